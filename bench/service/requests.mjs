// The requests of the benchmark: the largest that are allowed, and those that are meant to hold the service up.

import { generateKey } from "sealdex/core";

const dimension = 768;
const address = (index_name) => ({ index_name, index_key: generateKey() });

/** Holds 2,000 vectors; the first 60 have texts of 50 KB and metadata of 60 KB. */
const large = address("large");
/** Holds 10,000 vectors of 8 numbers with small metadata. */
const small = address("small");
const texts = address("texts");
const words = address("words");
/** What hostile upserts go to. */
const scratch = address("scratch");

const range = (n, make) => Array.from({ length: n }, (_, i) => make(i));
const vector = (d, i) => range(d, (j) => Math.fround(Math.sin(i * 31 + j)));

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
    items: [
      range(10_000, (n) => ({
        id: `${n}`,
        vector: vector(8, n),
        metadata: { n, of: n % 7, tags: ["a", `${n}`] },
      })),
    ],
  },
  { create: { ...texts, embedding_model: "default" }, items: [[{ id: "a", contents: "a text" }]] },
  {
    create: { ...words, embedding_model: "sealdex/lexical-512" },
    items: [[{ id: "a", contents: "a text" }]],
  },
  { create: scratch, items: [] },
];

const query = "/v1/vectors/query";
const upsert = "/v1/vectors/upsert";
const get = "/v1/vectors/get";
const remove = "/v1/vectors/delete";
const listIds = "/v1/vectors/list_ids";

/** The beginning of a body, for those that are no JSON or have a key twice. */
const open = (index) => JSON.stringify(index).slice(0, -1);
const asked = vector(8, 1);
const filtered = (filters) => ({ ...small, query_vectors: asked, filters });
/** Different words, in so many characters. */
const text = (length, step = 1) =>
  range(length / 5, (i) => `w${i * step} `)
    .join("")
    .slice(0, length);
const models = [
  ["lexical", words],
  ["semantic", texts],
];
/** A request alone, and many of it at the same time. */
const alsoAtOnce = (atOnce, request) => [
  request,
  { ...request, name: `${request.name}, ${atOnce} at once`, atOnce },
];
const conditions = (operators) => ({ $or: range(operators.length, (i) => operators[i]) });

export const requests = [
  // Upserts.
  {
    name: "upsert: 1,900 items of 768 numbers",
    path: upsert,
    body: { ...scratch, items: range(1900, (i) => ({ id: `${i}`, vector: vector(dimension, i) })) },
    status: 200,
  },
  {
    name: "upsert: 31 items with contents of 1 MB",
    path: upsert,
    body: {
      ...scratch,
      items: range(31, (i) => ({ id: `${i}`, vector: vector(dimension, i), contents: "é".repeat(500_000) })),
    },
    status: 200,
  },
  {
    name: "upsert: 5 items with contents of 1 MiB, all escaped",
    path: upsert,
    body: {
      ...scratch,
      items: range(5, (i) => ({
        id: `${i}`,
        vector: vector(dimension, i),
        contents: "\u0001".repeat(2 ** 20),
      })),
    },
    status: 200,
  },
  {
    name: "upsert: 10,000 items of 8 numbers, small metadata",
    path: upsert,
    body: {
      ...small,
      items: range(10_000, (n) => ({
        id: `${n}`,
        vector: vector(8, n),
        metadata: { n, of: n % 7, tags: ["a", `${n}`] },
      })),
    },
    status: 200,
  },
  {
    name: "upsert: 10,000 items with the same id",
    path: upsert,
    body: {
      ...scratch,
      items: range(10_000, (i) => ({ id: "0", vector: vector(dimension, i % 8).map((x) => +x.toFixed(1)) })),
    },
    status: 200,
  },
  ...[
    ["20,000 empty arrays", range(20_000, () => [])],
    ["20,000 empty objects", range(20_000, () => ({}))],
    ["10,000 paths", Object.fromEntries(range(8_000, (i) => [i.toString(36), 0]))],
    ["32,000 nulls", range(12_000, () => null)],
    [
      "arrays nested 25 deep, 1,000 times",
      range(1000, () => JSON.parse(`${"[".repeat(25)}${"]".repeat(25)}`)),
    ],
  ].map(([what, a]) => ({
    name: `upsert: 400 items with metadata of ${what}`,
    path: upsert,
    body: {
      ...scratch,
      items: range(400, (i) => ({
        id: `${i}`,
        vector: vector(dimension, i % 8).map((x) => +x.toFixed(1)),
        metadata: { a },
      })),
    },
    status: 200,
  })),
  {
    name: "upsert: 2,000 texts to embed, 31 MB, lexical",
    path: upsert,
    body: { ...words, items: range(2000, (i) => ({ id: `${i}`, contents: `word${i} `.repeat(1700) })) },
    status: 200,
  },
  ...models.map(([model, index]) => ({
    name: `upsert: 31 texts of 1 MB to embed, ${model}`,
    path: upsert,
    body: { ...index, items: range(31, (i) => ({ id: `${i}`, contents: text(1_000_000, i + 1) })) },
    status: 200,
  })),
  {
    name: "upsert: 30,000,000 brackets",
    path: upsert,
    body: `${open(scratch)},"items":${"[".repeat(30_000_000)}`,
    status: 422,
  },
  {
    name: "upsert: an unknown array of 8,000,000 arrays",
    path: upsert,
    body: `${open(scratch)},"query_vectors":[${"[0],".repeat(8_000_000)}[0]]}`,
    status: 422,
  },
  {
    name: "upsert: 2,000,000 unknown arrays",
    path: upsert,
    body: `${open(scratch)}${range(2_000_000, (i) => `,"${i}":[]`).join("")}}`,
    status: 422,
  },
  {
    name: "upsert: numbers of 1,000,000 digits",
    path: upsert,
    body: `${open(scratch)},"items":[{"id":"a","vector":[${"1".repeat(8_000_000)}]}]}`,
    status: 422,
  },
  {
    name: "upsert: 30 MB of blanks",
    path: upsert,
    body: `${open(scratch)},"items":[${" ".repeat(30_000_000)}]}`,
    status: 422,
  },
  // Queries.
  {
    name: "query: 2,000,000 vectors of 1 number",
    path: query,
    body: `${open(small)},"query_vectors":[${"[0],".repeat(1_900_000)}[0]]}`,
    status: 422,
  },
  {
    name: "query: a filter with 1,200,000 equal keys",
    path: query,
    body: `${open(small)},"query_vectors":[1],"filters":{${'"a":0,'.repeat(1_200_000)}"b":0}}`,
    status: 422,
  },
  {
    name: "query: 500 vectors, top_k 10,000",
    path: query,
    body: { ...large, query_vectors: range(500, (i) => vector(dimension, i)), top_k: 10_000, include: [] },
    status: 413,
  },
  {
    name: "query: 1,000 vectors of 8 numbers, top_k 100",
    path: query,
    body: { ...small, query_vectors: range(1000, (i) => vector(8, i)), include: ["distance"] },
    status: 200,
  },
  {
    name: "query: 200 vectors, top_k 200, metadata of 60 KB",
    path: query,
    body: { ...large, query_vectors: range(200, (i) => vector(dimension, i)), top_k: 200 },
    status: 413,
  },
  {
    name: "query: top_k 10,000, distances",
    path: query,
    body: { ...small, query_vectors: asked, top_k: 10_000, include: ["distance"] },
    status: 200,
  },
  {
    name: "query: top_k 10,000, metadata",
    path: query,
    body: { ...small, query_vectors: asked, top_k: 10_000, include: ["metadata"] },
    status: 200,
  },
  {
    name: "query: top_k 10,000, greedy",
    path: query,
    body: { ...small, query_vectors: asked, top_k: 10_000, greedy: true, include: [] },
    status: 200,
  },
  ...alsoAtOnce(40, {
    name: "query: $in of 10,000 strings of 95 characters",
    path: query,
    body: filtered({ a: { $in: range(10_000, (i) => `${i}${"x".repeat(90)}`) } }),
    status: 200,
  }),
  {
    name: "query: $in of 19,000 numbers in two lists",
    path: query,
    body: filtered({ n: { $in: range(9_500, (i) => i) }, of: { $nin: range(9_500, (i) => i * 3) } }),
    status: 200,
  },
  {
    name: "query: $in of 6,000 arrays",
    path: query,
    body: filtered({ tags: { $in: range(6_000, (i) => ["a", `${i}`]) } }),
    status: 200,
  },
  {
    name: "query: $in of a string of 7 MB",
    path: query,
    body: filtered({ a: { $in: ["x".repeat(7_000_000)] } }),
    status: 422,
  },
  {
    name: "query: $in of a string of 2 MB",
    path: query,
    body: filtered({ a: { $in: ["x".repeat(2_000_000)] } }),
    status: 200,
  },
  ...alsoAtOnce(20, {
    name: "query: 255 ranges",
    path: query,
    body: filtered(conditions(range(127, (i) => ({ n: { $gte: i * 70 + 0.5, $lt: i * 70 + 30 } })))),
    status: 200,
  }),
  {
    name: "query: 254 comparisons with texts of 8 KB",
    path: query,
    body: filtered(
      conditions(
        range(127, (i) => ({ tags: { $gt: `${i}${"x".repeat(8_000)}`, $ne: `${i}${"y".repeat(8_000)}` } })),
      ),
    ),
    status: 200,
  },
  {
    name: "query: 250 paths of 100 parts",
    path: query,
    body: filtered(
      conditions(range(250, (i) => ({ [range(100, (j) => (i + j) % 10).join(".")]: { $ne: 1 } }))),
    ),
    status: 200,
  },
  {
    name: "query: values nested 30 deep, 600 times",
    path: query,
    body: filtered({ a: { $in: range(600, (i) => JSON.parse(`${"[".repeat(25)}${i}${"]".repeat(25)}`)) } }),
    status: 200,
  },
  ...models.map(([model, index]) => ({
    name: `query: a text of 1 MiB, ${model}`,
    path: query,
    body: { ...index, query_contents: text(2 ** 20) },
    status: 200,
  })),
  {
    name: "query: a text of 7 MiB, semantic",
    path: query,
    body: { ...texts, query_contents: "word ".repeat(1_400_000) },
    status: 422,
  },
  {
    name: "query: a text of 1,000,000 marks, lexical",
    path: query,
    body: { ...words, query_contents: `a${"\u0301\u0316".repeat(260_000)}` },
    status: 200,
  },
  {
    name: "query: 500 vectors, client leaves after 20 ms",
    path: query,
    body: { ...large, query_vectors: range(500, (i) => vector(dimension, i)), top_k: 100, include: [] },
    leaveAfterMs: 20,
    atOnce: 4,
    status: "left",
  },
  // Ids.
  {
    name: "get: one id with 110 KB, 10,000 times",
    path: get,
    body: { ...large, ids: range(10_000, () => "3") },
    status: 413,
  },
  { name: "get: 10,000 ids", path: get, body: { ...small, ids: range(10_000, (i) => `${i}`) }, status: 200 },
  {
    name: "get: 60 items of 110 KB, 40 at once",
    path: get,
    body: { ...large, ids: range(60, (i) => `${i}`) },
    atOnce: 40,
    status: 200,
  },
  {
    name: "get: 10,000 unknown ids of 512 bytes",
    path: get,
    body: { ...small, ids: range(10_000, (i) => `${i}`.padEnd(512, "x")) },
    status: 200,
  },
  ...alsoAtOnce(40, { name: "list_ids: all 10,000", path: listIds, body: small, status: 200 }),
  {
    name: "delete: 10,000 unknown ids of 512 bytes",
    path: remove,
    body: { ...small, ids: range(10_000, (i) => `${i}`.padEnd(512, "x")) },
    status: 200,
  },
  {
    name: "delete: 100,000 ids",
    path: remove,
    body: { ...small, ids: range(100_000, (i) => `${i}`) },
    status: 422,
  },
  {
    name: "delete: 255 ranges",
    path: remove,
    body: { ...small, filters: conditions(range(127, (i) => ({ n: { $gte: i + 0.2, $lt: i + 0.5 } }))) },
    status: 200,
  },
  { name: "indexes: list, 40 at once", path: "/v1/indexes/list", body: "", atOnce: 40, status: 200 },
  { name: "train: 10,000 items of 8 numbers", path: "/v1/indexes/train", body: small, status: 200 },
  { name: "compact: 10,000 items of 8 numbers", path: "/v1/indexes/compact", body: small, status: 200 },
  {
    name: "delete: 10,000 ids",
    path: remove,
    body: { ...small, ids: range(10_000, (i) => `${i}`) },
    status: 200,
  },
];
