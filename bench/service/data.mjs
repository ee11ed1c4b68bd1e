// The indexes of the benchmark, and what its requests are made of.

import { generateKey } from "sealdex/core";

export const dimension = 768;
export const address = (index_name) => ({ index_name, index_key: generateKey() });

/** Holds 2,000 vectors; the first 60 have texts of 50 KB and metadata of 60 KB. */
export const large = address("large");
/** Holds 10,000 vectors of 8 numbers with small metadata. */
export const small = address("small");
export const texts = address("texts");
export const words = address("words");
/** Ranks texts by words. */
export const lexicon = address("lexicon");
/** What hostile upserts go to. */
export const scratch = address("scratch");

export const range = (n, make) => Array.from({ length: n }, (_, i) => make(i));
export const vector = (d, i) => range(d, (j) => Math.fround(Math.sin(i * 31 + j)));

export const smallItems = range(10_000, (n) => ({
  id: `${n}`,
  vector: vector(8, n),
  metadata: { n, of: n % 7, tags: ["a", `${n}`] },
}));

export const indexes = [
  {
    create: large,
    items: range(20, (part) =>
      range(100, (i) => {
        const n = part * 100 + i;
        const more = n < 60 && { contents: "é".repeat(25_000), metadata: { n, text: "m".repeat(60_000) } };
        return { id: `${n}`, vector: vector(dimension, n), ...more };
      }),
    ),
  },
  {
    create: small,
    items: [smallItems],
  },
  { create: { ...texts, embedding_model: "default" }, items: [[{ id: "a", contents: "a text" }]] },
  {
    create: { ...words, embedding_model: "sealdex/lexical-512" },
    items: [[{ id: "a", contents: "a text" }]],
  },
  {
    create: { ...lexicon, text_index: true, index_config: { type: "ivfflat", dimension: 2 } },
    items: range(10, (part) =>
      range(100, (i) => ({
        id: `${part}-${i}`,
        vector: [part, i],
        contents: range(200, (j) => `word${(i * j) % 997} common`).join(" "),
      })),
    ),
  },
  { create: scratch, items: [] },
];

export const query = "/v1/vectors/query";
export const queryBinary = "/v1/vectors/query_binary";
export const upsertBinary = "/v1/vectors/upsert_binary";
export const upsert = "/v1/vectors/upsert";
export const get = "/v1/vectors/get";
export const remove = "/v1/vectors/delete";
export const listIds = "/v1/vectors/list_ids";
export const list = "/v1/vectors/list";
export const update = "/v1/vectors/update";
export const count = "/v1/vectors/num_vectors";

/** The beginning of a body, for those that are no JSON or have a key twice. */
export const open = (index) => JSON.stringify(index).slice(0, -1);
export const asked = vector(8, 1);
export const matching = (filters) => ({ ...small, filters });
export const filtered = (filters) => ({ ...small, query_vectors: asked, filters });
/** Different words, in so many characters. */
export const text = (length, step = 1) =>
  range(length / 5, (i) => `w${i * step} `)
    .join("")
    .slice(0, length);
export const models = [
  ["lexical", words],
  ["semantic", texts],
];
/** As many accents as letters, so that normal forms are looked for. */
export const accented = (length) => "évèn ".repeat(length / 5);
/** A request alone, and many of it at the same time. */
export const alsoAtOnce = (atOnce, request) => [
  request,
  { ...request, name: `${request.name}, ${atOnce} at once`, atOnce },
];
export const ranges = range(127, (i) => ({ n: { $gte: i * 70 + 0.5, $lt: i * 70 + 30 } }));
export const conditions = (operators) => ({ $or: range(operators.length, (i) => operators[i]) });
/** n vectors as base64. */
export const base64 = (n, d) =>
  Buffer.from(Float32Array.from({ length: n * d }, (_, i) => Math.sin(i)).buffer).toString("base64");
/** The heap of the service, in MiB; the longest body is a quarter of it. */
export const heapMiB = Number(process.env.HEAP_MIB ?? 512);
export const bodyBytesMax = Math.min(256, heapMiB / 4) * 2 ** 20;
