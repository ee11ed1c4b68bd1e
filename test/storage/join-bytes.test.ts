/** Blobs of any size are copied in pieces, with turns of the event loop in between. */

import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { readBody } from "../../src/storage/object-store.js";
import { joinBytes } from "../../src/async/event-loop.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { turnsDuring } from "../engine/turns.js";
import { whole } from "../ranges.js";

const mebibyte = 2 ** 20;

test.each([
  ["nothing", []],
  ["nothing but empty parts", [0, 0]],
  ["small parts", [1, 0, 1000]],
  ["parts at the borders of pieces", [mebibyte - 1, mebibyte, mebibyte + 1, 2 * mebibyte]],
])("%s become one, in memory of its own", async (_, lengths) => {
  const parts = lengths.map((length) => randomBytes(length));
  const joined = await joinBytes(parts);
  expect(Buffer.compare(joined, Buffer.concat(parts))).toBe(0);
  expect(joined.byteLength).toBe(joined.buffer.byteLength);
});

test("a blob of 8 MiB takes a turn for each further piece, written, read, or received in chunks", async () => {
  const store = createMemoryStore();
  const blob = randomBytes(8 * mebibyte);
  expect(await turnsDuring(() => store.create("a", blob))).toBeGreaterThanOrEqual(7);
  expect(await turnsDuring(() => store.read("a", whole))).toBeGreaterThanOrEqual(7);
  expect(await turnsDuring(() => store.read("a", { offset: mebibyte, length: mebibyte }))).toBeLessThan(2);
  const body = async function* () {
    yield blob;
  };
  expect(await turnsDuring(() => readBody(body(), whole, undefined))).toBeGreaterThanOrEqual(7);
});

test("one of two concurrent creates of a large blob wins, and its bytes stay", async () => {
  const store = createMemoryStore();
  const blobs = [randomBytes(3 * mebibyte), randomBytes(2 * mebibyte)];
  const created = await Promise.all(blobs.map((blob) => store.create("a", blob)));
  expect(created.filter(Boolean)).toHaveLength(1);
  const stored = await store.read("a", whole);
  expect(Buffer.compare(stored ?? Buffer.alloc(0), blobs[created.indexOf(true)])).toBe(0);
});
