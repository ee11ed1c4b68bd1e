/** Shapes of requests with base64 vectors. */

import { dimensionMax } from "sealdex/wire";
import { Type } from "typebox";
import { profile, profileHeader } from "./query-fields.js";
import { match, metadata, queryOptions, upserted, upsertOptions } from "./schemas.js";
import { closed, limitedItems, optional, post } from "./shapes.js";

/** Vectors as base64. */
export const base64Vectors = {
  vectors_b64: Type.Unsafe<unknown>({
    type: "string",
    contentEncoding: "base64",
    description: "Vectors, one after another, as little-endian float32.",
  }),
  dimension: Type.Integer({ minimum: 1, maximum: dimensionMax }),
};
const inOrder = "In the order of the ids; null, or an empty text, for none.";

export const upsertBinary = post(
  "vectors",
  "Stores items with base64 vectors, replacing those with the same id.",
  upserted,
  {
    batch: closed({
      ids: Type.Array(Type.String(), limitedItems),
      ...base64Vectors,
      metadata: optional(Type.Array(Type.Union([metadata, Type.Null()]), limitedItems), inOrder),
      contents: optional(Type.Array(Type.Union([Type.String(), Type.Null()]), limitedItems), inOrder),
    }),
    ...upsertOptions,
  },
);

const vectorsQuery = post(
  "vectors",
  "The nearest neighbors of base64 vectors.",
  Type.Object({
    results: Type.Array(Type.Array(match), { description: "One list for each vector, in request order." }),
    profile,
  }),
  { batch: closed(base64Vectors), ...queryOptions },
);

export const queryBinary = { ...vectorsQuery, headers: profileHeader };
