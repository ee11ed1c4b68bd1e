/** Errors over HTTP: statuses of codes, and names of fields in messages. */

import type { ErrorCode } from "../errors.js";

/**
 * The HTTP status of a code. `not_supported` is 422 instead of 501: the same request could succeed
 * for another index, so the caller has to change it, while 5xx invites a retry.
 */
export function statusOfCode(code: ErrorCode): number {
  switch (code) {
    case "invalid_request":
    case "dimension_mismatch":
    case "not_supported":
      return 422;
    case "unauthenticated":
      return 401;
    case "forbidden":
    case "wrong_index_key":
      return 403;
    case "not_found":
      return 404;
    case "already_exists":
      return 409;
    case "too_large":
      return 413;
    case "rate_limited":
      return 429;
    case "storage_unavailable":
    case "overloaded":
    case "model_loading":
    case "model_unavailable":
      return 503;
    case "corrupt":
    case "missing_object":
    case "rollback_detected":
    case "internal":
      return 500;
  }
}

/** The code for a response without one, from another service or a proxy. */
export function codeOfStatus(status: number): ErrorCode {
  if (status === 401 || status === 407) return "unauthenticated";
  if (status === 403) return "forbidden";
  if (status === 404) return "not_found";
  if (status === 409) return "already_exists";
  if (status === 413) return "too_large";
  if (status === 429) return "rate_limited";
  if (status === 408 || [502, 503, 504].includes(status)) return "storage_unavailable";
  return status >= 400 && status < 500 ? "invalid_request" : "internal";
}

/**
 * The library's and HTTP's name of each field. If several have one name on the wire, the last one
 * wins on the way back.
 */
const fieldNames: readonly (readonly [string, string])[] = [
  ["indexName", "index_name"],
  ["embeddingModel", "embedding_model"],
  ["indexConfig", "index_config"],
  ["indexConfig.type", "index_config.type"],
  ["indexConfig.dimension", "index_config.dimension"],
  ["indexConfig.nLists", "index_config.n_lists"],
  ["indexConfig.precision", "index_config.precision"],
  ["indexConfig.spilling", "index_config.spilling"],
  ["indexConfig.pqDim", "index_config.pq_dim"],
  ["indexConfig.pqBits", "index_config.pq_bits"],
  ["nLists", "n_lists"],
  ["pqDim", "pq_dim"],
  ["pqBits", "pq_bits"],
  ["queryVector", "query_vectors"],
  ["queryVectors", "query_vectors"],
  ["queryContents", "query_contents"],
  ["topK", "top_k"],
  ["nProbes", "n_probes"],
  ["filter", "filters"],
  ["deleteAll", "delete_all"],
  ["updateAll", "update_all"],
  ["deleteFilter", "delete_filter"],
  ["skipUnchanged", "skip_unchanged"],
];
const wireNames = new Map(fieldNames);
const libraryNames = new Map(fieldNames.map(([library, wire]) => [wire, library]));

/**
 * Turns `indexConfig.nLists: expected …` into `index_config.n_lists: expected …`: callers read the
 * names that they wrote.
 */
export function toWireMessage(message: string): string {
  return rename(message, wireNames);
}

export function toLibraryMessage(message: string): string {
  return rename(message, libraryNames);
}

/** Renames only the place at the beginning of a message; the rest may quote the caller. */
function rename(message: string, names: ReadonlyMap<string, string>): string {
  return message.replace(
    /^[\w.]+/,
    (place) => names.get(place) ?? place.replace(/^\w+/, (first) => names.get(first) ?? first),
  );
}
