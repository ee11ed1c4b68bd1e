/** Encodings of a query's vectors, and how many fit into one request. */

import { invalid, losslessJson } from "../check-input.js";
import { base64Length } from "./base64.js";
import { commonDimension, encodeVectors } from "./binary.js";
import { queriesMax, type QueryBody, queryBytesMax } from "./query.js";

type Vectors = readonly (readonly number[])[];

interface QueryForm {
  /** Number of vectors that certainly fit into one request. */
  readonly together: number;
  /** The request for some of the vectors, as a batch. */
  bodyOf(part: Vectors): object;
}

interface QueryForms {
  readonly vectors: Vectors;
  readonly json: QueryForm;
  /** Undefined for vectors of several dimensions. */
  readonly binary: QueryForm | undefined;
}

/** The longest JSON text of a float32, with its comma. */
const numberBytesMax = 26;

/**
 * Undefined for a query without vectors or by words, which only JSON can express. `isBatch`:
 * whether the query has several vectors. Throws `invalid_request` for too many vectors and for
 * values that JSON would change.
 */
export function queryForms(body: QueryBody, isBatch: boolean): QueryForms | undefined {
  const { query_vectors, ...others } = body;
  // Vectors are checked when they are encoded.
  losslessJson(others, "request");
  if (!query_vectors || (body.query_text ?? undefined) !== undefined) return undefined;
  const vectors = (isBatch ? query_vectors : [query_vectors]) as Vectors;
  if (vectors.length > queriesMax) {
    throw invalid(`queryVectors: expected at most ${queriesMax} vectors, got ${vectors.length}`);
  }
  const longest = vectors.reduce((most, { length }) => Math.max(most, length), 1);
  const dimension = commonDimension(vectors);
  return {
    vectors,
    json: formOf((part) => ({ ...others, query_vectors: part }), numberBytesMax * longest),
    binary:
      dimension === undefined
        ? undefined
        : formOf(
            (part) => ({ ...others, batch: encodeVectors(part, dimension) }),
            base64Length(4 * dimension),
          ),
  };
}

/** `bytes` is the longest text of a vector. */
function formOf(bodyOf: QueryForm["bodyOf"], bytes: number): QueryForm {
  const room = queryBytesMax - new TextEncoder().encode(JSON.stringify(bodyOf([]))).length;
  return { together: Math.max(1, Math.floor(room / bytes)), bodyOf };
}
