/** Fields of results that the client adds to what the service sends. */

import { invalid, isArray, typeName } from "../check-input.js";
import type { ResultOptions, StoredItem, WordField } from "../vector-index.js";

export function isRaw({ rawMetadata = false }: ResultOptions): boolean {
  if (typeof rawMetadata === "boolean") return rawMetadata;
  throw invalid(`rawMetadata: expected a boolean, got ${typeName(rawMetadata)}`);
}

export function withRawMetadata<T extends StoredItem>({ metadata, ...item }: T) {
  return { ...item, ...(metadata !== undefined && { metadataJson: JSON.stringify(metadata) }) };
}

type Fetched = "vector" | "decoded" | "contents";

/** Fields that results of queries include now, and those that a second request gets later. */
export function fetchedFields<F extends WordField>(
  include: readonly F[],
): { readonly now: Exclude<F, Fetched>[]; readonly later: Fetched[] } {
  if (!isArray(include)) throw invalid("include: expected an array");
  const isFetched = (field: WordField) => field === "vector" || field === "decoded" || field === "contents";
  return {
    now: include.filter((field): field is Exclude<F, Fetched> => !isFetched(field)),
    later: include.filter((field): field is F & Fetched => isFetched(field)),
  };
}
