/** Vectors of recent queries: the same text is embedded once, and few long vectors are kept. */

import { expect, test } from "vitest";
import { QueryCache } from "../../src/embedding/index-embedder.js";

function newCache(dimension: number) {
  const cache = new QueryCache();
  const embedded: string[] = [];
  const ask = (text: string) =>
    cache.get(text, async () => {
      embedded.push(text);
      return new Float32Array(dimension);
    });
  return { ask, embedded };
}

test.each([
  [16, 256],
  [1024, 256],
  [8192, 32],
])("of vectors of %i numbers the last %i are kept", async (dimension, kept) => {
  const { ask, embedded } = newCache(dimension);
  for (let i = 0; i <= kept; i++) await ask(`${i}`);
  embedded.length = 0;
  for (let i = kept; i > 0; i--) await ask(`${i}`);
  expect(embedded).toEqual([]);
  await ask("0");
  expect(embedded).toEqual(["0"]);
});

test("the same text is embedded once, and again after a failure or if it is long", async () => {
  const { ask, embedded } = newCache(2);
  await Promise.all([ask("a"), ask("a")]);
  expect(embedded).toEqual(["a"]);
  const cache = new QueryCache();
  await expect(cache.get("a", () => Promise.reject(new Error("away")))).rejects.toThrow("away");
  expect(await cache.get("a", async () => [1])).toEqual([1]);
  const long = "x".repeat(2001);
  await ask(long);
  await ask(long);
  expect(embedded).toEqual(["a", long, long]);
});

test("a vector stays as it was if the model writes the next one into the same memory", async () => {
  const cache = new QueryCache();
  const memory = new Float32Array(1);
  const ask = async (text: string) => [...(await cache.get(text, async () => memory.fill(text.length)))];
  expect(await ask("a")).toEqual([1]);
  expect(await ask("bb")).toEqual([2]);
  expect(await ask("a")).toEqual([1]);
});

test("what is no vector is refused, and not kept", async () => {
  const cache = new QueryCache();
  for (const text of ["short", "x".repeat(2001)]) {
    for (const answer of [null, undefined, {}, [], [Number.NaN]]) {
      const refused = { code: "invalid_request", message: "embedding: expected vectors of finite numbers" };
      await expect(cache.get(text, async () => answer as never)).rejects.toMatchObject(refused);
    }
    expect(await cache.get(text, async () => [1])).toEqual([1]);
  }
});
