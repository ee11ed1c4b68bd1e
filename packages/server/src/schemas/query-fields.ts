/** Fields of queries and of their results: keywords, the order of items, the profile. */

import { Type } from "typebox";
import { closed, fieldsMax, ignored, oneOf, optional } from "./shapes.js";

/** Limit of a keyword query, in characters. */
const wordsLengthMax = 65_536;

const textIndexOptions = closed(
  {
    analyzer: optional(
      closed({
        language: optional(Type.String(), "Language of stems and stop words, or `none`. Default `english`."),
        stemming: optional(Type.Boolean(), "Default true."),
        stop_words: optional(
          Type.Union([Type.Boolean(), Type.Array(Type.String(), { maxItems: 10_000 })]),
          "Words that are not indexed: the language's own (`true`, the default), none, or these.",
        ),
      }),
    ),
    text_fields: optional(
      Type.Unsafe<Record<string, number>>({ type: "object", additionalProperties: true }),
      "Weights, 1 to 16, of `contents` and of dotted paths of metadata. Default: contents alone.",
    ),
    k1: optional(Type.Number(), "Of BM25, 0 to 10. Default 1.5."),
    b: optional(Type.Number(), "Of BM25, 0 to 1. Default 0.75."),
  },
  { title: "TextIndex" },
);

export const textIndex = optional(
  Type.Union([Type.Boolean(), textIndexOptions]),
  "Enables keyword search with `query_text`. `true`: English contents. Default: disabled.",
);

const words = {
  query_text: optional(
    Type.String({ maxLength: wordsLengthMax }),
    'Words, ranked by BM25, of an index with a text_index: `"a phrase"`, `+required`, `-excluded`, `prefix*`. With a vector ' +
      "or query_contents, hybrid. Results are ordered by score.",
  ),
  fusion: optional(
    closed(
      {
        method: oneOf("automatic", "rank", "scores"),
        alpha: Type.Optional(Type.Number({ description: "Weight of vectors, 0 to 1. Default 0.5." })),
        k: Type.Optional(Type.Number({ description: "Of `rank`. Default 60." })),
      },
      { title: "Fusion" },
    ),
    "Fusion of keyword and vector results. Default `automatic`.",
  ),
  text: optional(Type.String({ maxLength: wordsLengthMax }), "Another name of `query_text`."),
  alpha: optional(Type.Number(), "With `text`: `fusion` by `rank` with this `alpha`."),
  rrf_k: optional(Type.Number(), "With `text`: `k` of the fusion."),
};

/** Fields of a query that may have keywords. */
export const wordFields = {
  ...words,
  ...ignored("window_mult"),
  include: optional(
    Type.Array(
      oneOf("distance", "metadata", "scores", "highlights", "contents", "vector", "decoded", "profile"),
      { maxItems: fieldsMax },
    ),
    "Default: distance and metadata, with order_by metadata. `vector` needs an index of the type `ivfflat`, `scores` and " +
      "`highlights` need query_text.",
  ),
};

/** Fields of a match. */
export const wordResults = {
  scores: Type.Optional(
    Type.Object(
      { words: Type.Optional(Type.Number()), vectors: Type.Optional(Type.Number()) },
      { description: "BM25 score and distance, of the sides that found the item." },
    ),
  ),
  highlights: Type.Optional(
    Type.Array(Type.Object({ start: Type.Integer(), end: Type.Integer() }), {
      description: "Ranges of the contents that match `query_text`, in UTF-16 code units.",
    }),
  ),
};

/** Limit of fields in an order. */
const orderFieldsMax = 8;

export const orderBy = optional(
  Type.Union([
    Type.String(),
    Type.Record(
      Type.String(),
      Type.Union([Type.Literal("asc"), Type.Literal("desc"), Type.Literal(1), Type.Literal(-1)]),
      { title: "Order", minProperties: 1, maxProperties: orderFieldsMax },
    ),
  ]),
  'A field, by a dotted path, or `{ field: "desc" }`, with more fields for equal values. Numbers, texts, then booleans; items without ' +
    "one of these come last.",
);

/** Fields of a query that may be by metadata only. */
export const orderFields = {
  order_by: orderBy,
  cursor: optional(
    Type.String(),
    "Of the previous page of a query with order_by. All pages show one state of the index.",
  ),
};

const ms = (...names: string[]) =>
  Type.Object(Object.fromEntries(names.map((name) => [name, Type.Number()])), {
    description: "Milliseconds of each stage. Their sum is `total_ms`.",
  });

export const profile = Type.Optional(
  Type.Object(
    {
      total_ms: Type.Number(),
      stages_ms: ms("check", "open", "embed", "choose", "read", "decrypt", "scan", "fetch", "rerank"),
      waits: Type.Integer({ description: "Waits for storage. Requests that overlap are one wait." }),
      requests: Type.Integer({ description: "Requests to storage." }),
      bytes_read: Type.Integer(),
      cache_hits: Type.Integer({ description: "Blocks that were in memory." }),
      cache_misses: Type.Integer({ description: "Blocks that were not." }),
      lists: Type.Integer({ description: "Inverted lists that were chosen." }),
      rows_compared: Type.Integer({ description: "Rows compared by their codes." }),
      rows_read: Type.Integer({ description: "Rows compared by their vectors." }),
      shards_missing: Type.Integer({
        description: "Shards of a collection that are left out: see allow_partial_after_ms.",
      }),
    },
    { title: "Profile", description: "Returned if `include` has `profile`." },
  ),
);

export const profileHeader = Type.Object({
  "x-profile": Type.Optional(
    Type.String({
      description:
        "`true`: the response has the header `Server-Timing`, with the time of each stage of the query.",
    }),
  ),
});
