/** Errors over HTTP: statuses of codes, and names of fields in messages. */

import { type ErrorCode, isErrorCode, SealdexError } from "../../errors.js";

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
function codeOfStatus(status: number): ErrorCode {
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
  ["allowPartialAfterMs", "allow_partial_after_ms"],
  ["filter", "filters"],
  ["deleteAll", "delete_all"],
  ["updateAll", "update_all"],
  ["deleteFilter", "delete_filter"],
  ["skipUnchanged", "skip_unchanged"],
];
const wireNames = new Map(fieldNames);
const libraryNames = new Map(fieldNames.map(([library, wire]) => [wire, library]));

/**
 * Turns `indexConfig.nLists: expected …` into `index_config.n_lists: expected …` and back: callers read the names that they
 * wrote. Renames only the place at the beginning of a message; the rest may quote the caller.
 */
function rename(message: string, names: ReadonlyMap<string, string>): string {
  return message.replace(
    /^[\w.]+/,
    (place) => names.get(place) ?? place.replace(/^\w+/, (first) => names.get(first) ?? first),
  );
}

// Bodies of errors. The interface defines `{ status_code, detail }`, and for 422 a list of places,
// as generated clients decode them; some refuse unknown fields. Sealdex's client asks for the code
// too.

/** In `Accept`, requests errors as `ErrorBody`. */
export const mediaType = "application/vnd.sealdex+json";

export interface ErrorBody {
  readonly status_code: number;
  readonly code: ErrorCode;
  readonly detail: string;
}

/** `status` overrides the code's own status, for example by 413. */
export function encodeError({ code, message }: SealdexError, status = statusOfCode(code)): ErrorBody {
  return { status_code: status, code, detail: rename(message, wireNames) };
}

/** For clients that did not ask for codes, which a response header has. */
export function encodePlainError(error: SealdexError, status = statusOfCode(error.code)) {
  const { code, detail } = encodeError(error, status);
  return status === 422 ? { detail: [{ ...locate(detail), type: code }] } : { status_code: status, detail };
}

/** Splits `items[3].id: expected …` into the parts of its place and the rest. */
function locate(detail: string): { loc: (string | number)[]; msg: string } {
  const [, place, msg] = /^([\w$.[\]]+): (.+)$/s.exec(detail) ?? [];
  if (place === undefined) return { loc: ["body"], msg: detail };
  if (place === "querystring") return { loc: ["query"], msg };
  const parts = place.split(/[.[\]]+/).filter((part) => part !== "" && part !== "body");
  return { loc: ["body", ...parts.map((part) => (/^\d{1,9}$/.test(part) ? Number(part) : part))], msg };
}

/**
 * The error that the library would have thrown; for bodies of other origin, one made of the status.
 */
export function decodeError(status: number, body: unknown): SealdexError {
  const { code, detail } = (body ?? {}) as Partial<ErrorBody>;
  if (isErrorCode(code) && typeof detail === "string")
    return new SealdexError(code, rename(detail, libraryNames));
  const received = typeof detail === "string" ? `status ${status}: ${detail}` : `status ${status}`;
  return new SealdexError(codeOfStatus(status), `service: expected a result, got ${received}`);
}
