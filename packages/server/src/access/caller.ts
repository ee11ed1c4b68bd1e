/** The caller of a request, identified by its API key, with its permissions. */

import { SealdexError } from "sealdex/core";

/** Permissions of a key. `admin` includes the others. `routeAccess` maps endpoints to scopes. */
export const scopes = ["read", "write", "admin"] as const;

export type Scope = (typeof scopes)[number];

export interface Caller {
  /**
   * For logs: id of an issued key, `root`, or `operator-1` for the first key of the settings. Not
   * secret.
   */
  readonly id: string;
  readonly scopes: readonly Scope[];
  /** Names of the only indexes that the key may use. Undefined: all. */
  readonly indexes?: readonly string[];
}

export function isScope(value: unknown): value is Scope {
  return (scopes as readonly unknown[]).includes(value);
}

/** Throws `forbidden` unless the caller has one of `accepted`. */
export function checkScope(caller: Caller, accepted: readonly Scope[]): void {
  if (caller.scopes.some((scope) => scope === "admin" || accepted.includes(scope))) return;
  throw new SealdexError("forbidden", `X-API-Key: expected a key with the scope ${accepted.join(" or ")}`);
}

/**
 * Throws `forbidden` unless the caller may read: conditional changes reveal something about stored
 * items.
 */
export function checkMayRead(caller: Caller | undefined, what: string): void {
  if (caller?.scopes.some((scope) => scope === "admin" || scope === "read") === true) return;
  throw new SealdexError("forbidden", `X-API-Key: expected a key with the scopes read and write for ${what}`);
}

export function mayUseIndex({ indexes }: Caller, indexName: string): boolean {
  return indexes === undefined || indexes.includes(indexName);
}

/** Throws `forbidden`, whether or not the index exists. */
export function checkIndex(caller: Caller, indexName: string): void {
  if (mayUseIndex(caller, indexName)) return;
  throw new SealdexError("forbidden", "X-API-Key: expected a key that may be used for this index");
}

/** Throws `forbidden` for a key that is limited to some indexes. */
export function checkUnlimited({ indexes }: Caller): void {
  if (indexes === undefined) return;
  throw new SealdexError("forbidden", "X-API-Key: expected a key that is not limited to some indexes");
}
