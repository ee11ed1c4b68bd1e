/** Encodings of a query's vectors, and how many fit into one request. */

import type { OpenIndexOptions } from "../../api/vector-index.js";
import { invalid, jsonText, losslessJson } from "../../checks/input.js";
import { encodeAddress } from "./address.js";
import { binaryDimension, commonDimension, encodeBinaryVectors } from "./binary.js";
import type { UpsertConditionsBody } from "./changes.js";
import type { EncodedItem } from "./items.js";
import { queriesMax, type QueryBody, queryBytesMax } from "./query.js";
import { base64Length } from "./values.js";

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
            (part) => ({ ...others, batch: encodeBinaryVectors(part, dimension) }),
            base64Length(4 * dimension),
          ),
  };
}

/** `bytes` is the longest text of a vector. */
function formOf(bodyOf: QueryForm["bodyOf"], bytes: number): QueryForm {
  const room = queryBytesMax - new TextEncoder().encode(JSON.stringify(bodyOf([]))).length;
  return { together: Math.max(1, Math.floor(room / bytes)), bodyOf };
}

// Encodings of upserted items: JSON, or JSON with the vectors in base64.

/** The texts that an item adds to a request. */
type Texts = readonly string[];

interface UpsertForm {
  readonly path: string;
  /** Bytes of a request without items. */
  readonly emptyBytes: number;
  /** The most bytes that an item adds besides its texts. */
  readonly itemBytes: number;
  /** Throws `invalid_request` for values that JSON cannot express. */
  textsOf(i: number): Texts;
  /** The request for the items from `start` on with these texts. */
  bodyOf(texts: readonly Texts[], start: number): string;
}

/**
 * `binary` is undefined if only JSON can express the items: several dimensions, images, missing
 * vectors.
 */
export function upsertForms(
  address: OpenIndexOptions,
  conditions: UpsertConditionsBody,
  items: readonly EncodedItem[],
): { readonly json: UpsertForm; readonly binary: UpsertForm | undefined } {
  const open = jsonText({ ...encodeAddress(address), ...conditions }, "upsert").slice(0, -1);
  const dimension = binaryDimension(items);
  return {
    json: jsonForm(open, items),
    binary: dimension === undefined ? undefined : binaryForm(open, items, dimension),
  };
}

function jsonForm(open: string, items: readonly EncodedItem[]): UpsertForm {
  const bodyOf = (texts: readonly Texts[]) => `${open},"items":[${texts.join(",")}]}`;
  return {
    path: "/v1/vectors/upsert",
    emptyBytes: utf8Length(bodyOf([])),
    itemBytes: ",".length,
    textsOf(i) {
      const { metadata, ...others } = items[i];
      const text = jsonText(others, `items[${i}]`);
      return [metadata === undefined ? text : `${text.slice(0, -1)},"metadata":${metadata.text}}`];
    },
    bodyOf,
  };
}

function binaryForm(open: string, items: readonly EncodedItem[], dimension: number): UpsertForm {
  const bodyOf = (texts: readonly Texts[], start: number) => {
    const column = (c: number) => texts.map((ofItem) => ofItem[c]).join(",");
    const vectors = items.slice(start, start + texts.length).map(({ vector }) => vector ?? []);
    const lists = `"ids":[${column(0)}],"metadata":[${column(1)}],"contents":[${column(2)}]`;
    return `${open},"batch":{${lists},${JSON.stringify(encodeBinaryVectors(vectors, dimension)).slice(1)}}`;
  };
  return {
    path: "/v1/vectors/upsert_binary",
    emptyBytes: utf8Length(bodyOf([], 0)),
    itemBytes: ",,,".length + base64Length(4 * dimension),
    textsOf(i) {
      const { id, metadata, contents = null } = items[i];
      return [JSON.stringify(id), metadata?.text ?? "null", JSON.stringify(contents)];
    },
    bodyOf,
  };
}

export function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}
