/** The caller of a request, as its API key identifies it, and what that key permits. */

import { SealdexError } from "sealdex/core";

/** What a key permits. `admin` includes the others. `routeAccess` lists which endpoint needs which. */
export const scopes = ["read", "write", "admin"] as const;

export type Scope = (typeof scopes)[number];

export interface Caller {
  /** For logs: the id of an issued key, `root`, or `operator-1` for the first key of the settings. Not secret. */
  readonly id: string;
  readonly scopes: readonly Scope[];
  /** The names of the only indexes that the key may be used for. Undefined: all. */
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

/** Throws `forbidden` unless the caller may read: what depends on stored items tells something of them. */
export function checkMayRead(caller: Caller | undefined, what: string): void {
  if (caller?.scopes.some((scope) => scope === "admin" || scope === "read") === true) return;
  throw new SealdexError("forbidden", `X-API-Key: expected a key with the scopes read and write for ${what}`);
}

export function mayUseIndex({ indexes }: Caller, indexName: string): boolean {
  return indexes === undefined || indexes.includes(indexName);
}

/** Throws `forbidden`, whether or not there is such an index. */
export function checkIndex(caller: Caller, indexName: string): void {
  if (mayUseIndex(caller, indexName)) return;
  throw new SealdexError("forbidden", "X-API-Key: expected a key that may be used for this index");
}

/** Throws `forbidden` for a key that is limited to some indexes. */
export function checkUnlimited({ indexes }: Caller): void {
  if (indexes === undefined) return;
  throw new SealdexError("forbidden", "X-API-Key: expected a key that is not limited to some indexes");
}
