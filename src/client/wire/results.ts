/** The JSON of results: matches, stored items, names and counts. */

import { SealdexError } from "../../errors.js";
import { decodeTime, decodeVector } from "./values.js";
import type { Match, StoredItem } from "../../api/vector-index.js";

/** One list per query. `batch`: whether the request had several. */
export function decodeResults(json: unknown, batch: boolean): Match[][] {
  const results = field(json, "results");
  return (batch ? list(results) : [results]).map(decodeItems);
}

export type StoredItemBody = Omit<Match, "vector" | "decoded" | "expiresAt"> & {
  readonly vector?: readonly number[];
  readonly decoded?: readonly number[];
  readonly expires_at?: unknown;
};

export function decodeStoredItems(json: unknown): StoredItem[] {
  return decodeItems(field(json, "results"));
}

/** Matches have scores and other fields besides those of items. */
function decodeItems(results: unknown): Match[] {
  return ofService(() =>
    entries<StoredItemBody>(results).map(({ vector, decoded, expires_at, ...item }) => ({
      ...item,
      ...(vector && { vector: decodeVector(vector, "vector") }),
      ...(decoded && { decoded: decodeVector(decoded, "decoded") }),
      ...(expires_at !== undefined && { expiresAt: decodeTime(expires_at, "results.expires_at") }),
    })),
  );
}

/** The strings of a list in a response, for example ids. */
export function decodeNames(json: unknown, name: string): string[] {
  const names = list(field(json, name));
  if (!names.every((text) => typeof text === "string")) throw foreign();
  return names;
}

export function decodeCount(json: unknown): number {
  const count = field(json, "result");
  if (typeof count !== "number") throw foreign();
  return count;
}

export function decodeAnchorBody(json: unknown): string {
  const anchor = field(json, "anchor");
  if (typeof anchor !== "string") throw foreign();
  return anchor;
}

function field(json: unknown, name: string): unknown {
  return (json as Readonly<Record<string, unknown>> | null)?.[name];
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw foreign();
  return value;
}

/** The entries of a list, each with an id. */
function entries<T extends { readonly id: string }>(results: unknown): T[] {
  const found = list(results) as (T | null)[];
  if (!found.every((entry) => typeof entry?.id === "string")) throw foreign();
  return found as T[];
}

/** Decodes a response. Whatever that throws is the fault of the service, not of its caller. */
export function ofService<T>(decode: () => T): T {
  try {
    return decode();
  } catch {
    throw foreign();
  }
}

/** The error for responses of something else than a Sealdex service. */
export function foreign(): SealdexError {
  return new SealdexError("internal", "service: the response is not from a Sealdex service");
}
