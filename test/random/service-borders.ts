/** Requests at every limit, and just past it. */

import { expect } from "vitest";
import type { Choice } from "./choice.js";
import { type Address, limits, type Send } from "./service-tenant.js";

interface Border {
  readonly path: string;
  /** The body of a request that is `past` the limit, or at it. */
  readonly body: (past: number) => object;
  readonly refusal: 413 | 422;
}

const vectors = (verb: string) => `/v1/vectors/${verb}`;
const short = (n: number) => Array.from({ length: n }, (_, i) => i.toString(36));

/** Of an index whose vectors have two numbers. */
const borders: readonly Border[] = [
  { path: vectors("get"), body: (past) => ({ ids: short(10_000 + past) }), refusal: 422 },
  { path: vectors("get"), body: (past) => ({ ids: ["x".repeat(512 + past)] }), refusal: 422 },
  { path: vectors("delete"), body: (past) => ({ ids: short(10_000 + past) }), refusal: 422 },
  {
    path: vectors("update"),
    body: (past) => ({ ids: ["a"], metadata: {}, unset: short(1000 + past) }),
    refusal: 422,
  },
  {
    path: vectors("query"),
    body: (past) => ({ query_vectors: Array.from({ length: 1000 + past }, () => [1, 2]), top_k: 0 }),
    refusal: 422,
  },
  {
    path: vectors("query"),
    body: (past) => ({ query_vectors: [1, 2], filters: { $or: short(255 + past).map((a) => ({ [a]: 1 })) } }),
    refusal: 422,
  },
  {
    path: vectors("query"),
    body: (past) => ({ query_vectors: [1, 2], filters: { a: { $in: Array(10_000 + past).fill(1) } } }),
    refusal: 422,
  },
  {
    path: vectors("query"),
    body: (past) => ({
      query_vectors: [1, 2],
      filters: {
        [Array(100 + past)
          .fill("a")
          .join(".")]: 1,
      },
    }),
    refusal: 422,
  },
  {
    path: vectors("query"),
    body: (past) => ({ query_vectors: [1, 2], include: Array(16 + past).fill("distance") }),
    refusal: 422,
  },
  { path: vectors("list"), body: (past) => ({ limit: 10_000 + past }), refusal: 422 },
  {
    path: vectors("upsert"),
    body: (past) => ({ items: [{ id: "é".repeat(256) + "x".repeat(past), vector: [1, 2] }] }),
    refusal: 422,
  },
  {
    path: vectors("upsert"),
    body: (past) => ({ items: [{ id: "a", vector: [1, 2], metadata: { a: "x".repeat(65_528 + past) } }] }),
    refusal: 422,
  },
  {
    path: vectors("upsert"),
    body: (past) => ({ items: [{ id: "a", vector: [past === 0 ? 1e15 : 1.001e15, 0] }] }),
    refusal: 422,
  },
];

/** One of them, at its limit and past it. */
export async function checkBorder(choice: Choice, send: Send, address: Address): Promise<void> {
  const { path, body, refusal } = choice.of(borders);
  const shown = `${path} ${JSON.stringify(body(0)).slice(0, 100)}`;
  expect(await send(path, { ...address, ...body(0) }), shown).toMatchObject({ status: 200 });
  expect(await send(path, { ...address, ...body(1) }), shown).toMatchObject({ status: refusal });
}

/** A body of as many bytes as there may be, and one of one byte more. */
export async function checkBodyBorder(choice: Choice, send: Send, address: Address): Promise<void> {
  const [path, bytesMax, fields] = choice.of([
    [vectors("upsert"), limits.bodyBytesMax, { items: [] }],
    [vectors("get"), limits.queryBytesMax, { ids: [] }],
    [vectors("query"), limits.queryBytesMax, { query_vectors: [1, 2] }],
  ] as const);
  const body = { ...address, ...fields, include: null };
  const blanks = bytesMax - Buffer.byteLength(JSON.stringify(body));
  for (const [past, status] of [
    [0, 200],
    [1, 413],
  ]) {
    const text = JSON.stringify(body).replace("null", `${" ".repeat(blanks + past)}null`);
    expect((await send(path, text as unknown as object)).status, path).toBe(status);
  }
}
