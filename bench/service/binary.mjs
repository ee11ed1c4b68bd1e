// Vectors as base64: the largest that are allowed, and those that are meant to hold the service up.

import {
  base64,
  bodyBytesMax,
  dimension,
  large,
  open,
  queryBinary,
  range,
  scratch,
  small,
  text,
  upsertBinary,
  vector,
} from "./data.mjs";

const ids = (n) => range(n, (i) => `${i}`);
/** As many vectors as the longest body has room for, and their ids. */
const most = (d) => Math.min(100_000, Math.floor((0.99 * bodyBytesMax) / (Math.ceil((16 * d) / 3) + 9)));
const batch = (n, d, more = {}) => ({ ids: ids(n), dimension: d, ...more, vectors_b64: base64(n, d) });

export const binary = [
  {
    name: "upsert_binary: the longest body, 768 numbers",
    path: upsertBinary,
    body: () => ({ ...scratch, batch: batch(most(dimension), dimension) }),
    status: 200,
  },
  {
    name: "upsert_binary: 100,000 items of 8 numbers",
    path: upsertBinary,
    body: () => ({ ...small, batch: batch(100_000, 8) }),
    status: 200,
  },
  {
    name: "upsert_binary: 10,000 items with metadata and contents",
    path: upsertBinary,
    body: () => ({
      ...small,
      batch: batch(10_000, 8, {
        metadata: range(10_000, (n) => ({ n, of: n % 7, tags: ["a", `${n}`] })),
        contents: range(10_000, (n) => `${n} ${"é".repeat(200)}`),
      }),
    }),
    status: 200,
  },
  {
    name: "upsert_binary: 50 items with contents of 1 MB",
    path: upsertBinary,
    body: () => ({
      ...scratch,
      batch: batch(50, dimension, { contents: range(50, (i) => text(1_000_000, i + 1)) }),
    }),
    status: 200,
  },
  {
    name: "upsert_binary: 40 MB of base64, of another length",
    path: upsertBinary,
    body: () =>
      `${open(scratch)},"batch":{"ids":["a"],"dimension":1,"vectors_b64":"${"A".repeat(40_000_000)}"}}`,
    status: 422,
  },
  {
    name: "upsert_binary: 40 MB of escaped slashes",
    path: upsertBinary,
    body: () =>
      `${open(scratch)},"batch":{"ids":["a"],"dimension":1,"vectors_b64":"${"\\/".repeat(20_000_000)}"}}`,
    status: 422,
  },
  {
    name: "upsert_binary: 8,000,000 ids",
    path: upsertBinary,
    body: () =>
      `${open(scratch)},"batch":{"ids":[${'"",'.repeat(8_000_000)}""],"dimension":1,"vectors_b64":""}}`,
    status: 422,
  },
  {
    name: "query_binary: 1,000 vectors of 8 numbers, top_k 100",
    path: queryBinary,
    body: () => ({ ...small, batch: { dimension: 8, vectors_b64: base64(1000, 8) }, include: ["distance"] }),
    status: 200,
  },
  {
    name: "query_binary: 1,000 vectors, top_k 10",
    path: queryBinary,
    body: () => ({
      ...large,
      batch: {
        dimension,
        vectors_b64: Buffer.from(
          Float32Array.from(range(1000, (i) => vector(dimension, i)).flat()).buffer,
        ).toString("base64"),
      },
      top_k: 10,
      include: [],
    }),
    status: 200,
  },
  {
    name: "query_binary: 30 MB of vectors of 1 number",
    path: queryBinary,
    body: () => `${open(small)},"batch":{"dimension":1,"vectors_b64":"${"A".repeat(30_000_000)}"}}`,
    status: 422,
  },
];
