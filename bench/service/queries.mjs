// Queries: the largest that are allowed, and those that are meant to hold the service up.

import {
  dimension,
  large,
  small,
  texts,
  words,
  range,
  vector,
  query,
  open,
  asked,
  filtered,
  text,
  models,
  accented,
  alsoAtOnce,
  ranges,
  conditions,
} from "./data.mjs";

export const queries = [
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
    body: filtered(conditions(ranges)),
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
  ...models.map(([model, index]) => ({
    name: `query: a text of 1 MiB with accents, ${model}`,
    path: query,
    body: { ...index, query_contents: accented(2 ** 20) },
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
];
