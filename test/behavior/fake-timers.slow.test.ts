/** A process whose global timers and clocks are fake ones for a while, as in tests of those who use the library. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import type * as realTimers from "../../src/async/timers.js";
import { newFolder } from "../folder.js";

let path: string;
beforeEach(async () => {
  path = await newFolder();
});
afterEach(async () => {
  vi.useRealTimers();
});

/** Enough to take several turns of the event loop. */
async function use(name: string): Promise<number> {
  const client = createClient({
    indexLocation: { location: "local", path: join(path, name) },
  });
  const index = await client.createIndex({
    indexName: "a",
    indexKey: generateKey(),
    embeddingModel: "sealdex/lexical-64",
    textIndex: true,
  });
  await index.upsert(Array.from({ length: 3000 }, (_, i) => ({ id: `${i}`, contents: `text number ${i}` })));
  await index.train({ nLists: 4 });
  await index.delete({ ids: ["1"] });
  const count = await index.count();
  await client.close();
  return count;
}

test("calls end while Vitest's timers stand still, and so do those after them", async () => {
  vi.useFakeTimers();
  expect(await use("faked")).toBe(2999);
  vi.useRealTimers();
  expect(await use("real")).toBe(2999);
});

test("calls end while a clock jumps, and so do those after them", async () => {
  vi.useFakeTimers({ now: 0 });
  vi.advanceTimersByTime(1e12);
  expect(await use("later")).toBe(2999);
  vi.useRealTimers();
  expect(await use("real")).toBe(2999);
});

test("calls end while everything that can be faked does nothing", async () => {
  const nothing = () => ({ ref: nothing, unref: nothing }) as never;
  const faked = ["setTimeout", "setInterval", "setImmediate", "queueMicrotask"] as const;
  for (const name of faked) vi.spyOn(globalThis, name).mockImplementation(nothing);
  vi.spyOn(performance, "now").mockReturnValue(1);
  vi.spyOn(Date, "now").mockReturnValue(1_800_000_000_000);
  try {
    expect(await use("faked")).toBe(2999);
  } finally {
    vi.restoreAllMocks();
  }
  expect(await use("real")).toBe(2999);
});

test("items expire by the date that a test sets", async () => {
  const client = createClient({ indexLocation: { location: "memory" } });
  const index = await client.createIndex({ indexName: "a", indexKey: generateKey() });
  await index.upsert([{ id: "a", vector: [1], expiresAt: Date.now() + 1000 }]);
  expect(await index.count()).toBe(1);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2000 });
  expect(await index.count()).toBe(0);
});

test("without Node.js the timers are those of the browser", () => {
  const file = join(import.meta.dirname, "../../dist/cjs/async/timers.js");
  const exports: Record<string, unknown> = {};
  // As a browser's, they refuse to be methods of anything but the window.
  const setTimeout = `function (callback, ms) {
    if (this !== undefined && this !== globalThis) throw new TypeError("Illegal invocation");
    return ms;
  }`;
  const browser = createContext({ clearTimeout() {}, performance: { now: () => 7 }, exports });
  runInContext(`globalThis.setTimeout = ${setTimeout}`, browser);
  runInContext(readFileSync(file, "utf8"), browser);
  const { timers, performance } = exports as unknown as typeof realTimers;
  expect(timers.setTimeout(() => undefined, 5)).toBe(5);
  expect(timers.setImmediate).toBeUndefined();
  expect(performance.now()).toBe(7);
});
