/** Fields of keyword search. */

import { Type } from "typebox";
import { closed, ignored, oneOf, optional } from "./shapes.js";

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

/** Fields of a query that may have keywords; `include` may have this many entries. */
export function wordFields(fieldsMax: number) {
  const field = oneOf(
    "distance",
    "metadata",
    "scores",
    "highlights",
    "contents",
    "vector",
    "decoded",
    "profile",
  );
  return {
    ...words,
    ...ignored("window_mult"),
    include: optional(
      Type.Array(field, { maxItems: fieldsMax }),
      "Default: distance and metadata, with order_by metadata. `vector` needs an index of the type `ivfflat`, `scores` and " +
        "`highlights` need query_text.",
    ),
  };
}

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
