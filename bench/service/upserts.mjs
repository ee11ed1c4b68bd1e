// Upserts: the largest that are allowed, and those that are meant to hold the service up.

import {
  bodyBytesMax,
  dimension,
  small,
  words,
  scratch,
  range,
  vector,
  smallItems,
  upsert,
  open,
  text,
  models,
} from "./data.mjs";

const row = JSON.stringify(vector(dimension, 1));

export const upserts = [
  {
    name: "upsert: the longest body, 768 numbers",
    path: upsert,
    body: () => {
      const count = Math.floor((0.99 * bodyBytesMax) / (row.length + 30));
      return `${open(scratch)},"items":[${range(count, (i) => `{"id":"${i}","vector":${row}}`).join(",")}]}`;
    },
    status: 200,
  },
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
      items: smallItems,
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
];
