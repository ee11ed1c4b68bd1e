/** The cases of the conformance suite, one promise of blob-store.ts each. */

import { deepStrictEqual, ok, strictEqual } from "node:assert";
import type { BlobStore } from "./blob-store.js";

/** One location, made for one case. */
export interface ConformanceLocation {
  /** Another handle on it. A store that lives in one process may give the same one every time. */
  open(): Promise<BlobStore>;
  /**
   * Starts these creates of one key at once in another process, and resolves to their results. With
   * it, half of the racing creates run there; without it, a driver is tested within one process
   * only.
   */
  createElsewhere?(key: string, contents: readonly Uint8Array[]): Promise<boolean[]>;
  /** Removes it; called after its handles are closed. */
  destroy?(): Promise<void>;
}

/** `open` opens the location; the suite closes every handle afterwards. */
type ConformanceCase = (open: () => Promise<BlobStore>, location: ConformanceLocation) => Promise<void>;

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
const mebibyte = 1024 * 1024;
const largestBytes = 64 * mebibyte;
/** The longest range that the contract allows. */
const longestBytes = 1024 * mebibyte;
/** One byte more than the longest blob of these cases. */
const whole = { offset: 0, length: largestBytes + 1 };
/** More than the 1,000 keys that object stores list or delete at once. */
const manyKeys = Array.from({ length: 1100 }, (_, i) => `many/k${String(i).padStart(4, "0")}`);

export const cases: Record<string, ConformanceCase> = {
  async "reads null if there is no blob"(open) {
    const store = await open();
    await store.create("there", sample(3));
    strictEqual(await store.read("absent", whole), null);
    strictEqual(await store.read("absent/below", whole), null);
    strictEqual(await store.read("ther", whole), null);
    strictEqual(await store.read("absent", { offset: 0, length: 1 }), null);
  },

  async "reads what was created"(open) {
    const store = await open();
    strictEqual(await store.create("a/b", sample(1000)), true);
    expectBytes(await store.read("a/b", whole), sample(1000));
  },

  async "creates a taken key neither in part nor in whole"(open) {
    const store = await open();
    await store.create("key", sample(1000));
    for (const bytes of [sample(1000, 1), sample(0), sample(5000, 2), sample(1000)]) {
      strictEqual(await store.create("key", bytes), false);
      expectBytes(await store.read("key", whole), sample(1000));
    }
  },

  async "lets exactly one of 32 concurrent creates win, whose bytes the others can read at once"(
    open,
    location,
  ) {
    const stores = await Promise.all(Array.from({ length: 4 }, open));
    for (let round = 0; round < 12; round++) {
      const key = `race/${round}`;
      const contents = Array.from({ length: 32 }, (_, i) => sample(100_000 + i, i));
      const far = location.createElsewhere === undefined ? [] : contents.slice(16);
      const near = contents.slice(0, contents.length - far.length);
      const [nearResults, farWon = []] = await Promise.all([
        Promise.all(
          near.map(async (bytes, i) => {
            const store = stores[i % stores.length];
            return { won: await store.create(key, bytes), seen: await store.read(key, whole) };
          }),
        ),
        location.createElsewhere?.(key, far),
      ]);
      const won = [...nearResults.map((result) => result.won), ...farWon];
      strictEqual(won.filter(Boolean).length, 1, `winners of ${won.length} creates`);
      const winner = contents[won.indexOf(true)];
      for (const { seen } of nearResults) expectBytes(seen, winner);
      expectBytes(await (await open()).read(key, whole), winner);
    }
  },

  async "reads ranges at every edge"(open) {
    const store = await open();
    for (const size of [10, mebibyte]) {
      const bytes = sample(size);
      await store.create(`size/${size}`, bytes);
      const offsets = [0, 1, 3, size - 1, size, size + 1, size + mebibyte];
      const lengths = [0, 1, 2, size - 3, size - 1, size, size + 1, 64 * mebibyte];
      for (const offset of offsets) {
        for (const length of lengths) {
          const part = await store.read(`size/${size}`, { offset, length });
          expectBytes(
            part,
            bytes.slice(offset, offset + length),
            `${length} bytes from ${offset} of ${size}`,
          );
        }
      }
    }
    await store.create("empty", sample(0));
    expectBytes(await store.read("empty", { offset: 0, length: 1 }), sample(0));
    expectBytes(await store.read("empty", { offset: 5, length: 1 }), sample(0));
  },

  async "keeps blobs of 0 bytes to 64 MiB"(open) {
    const store = await open();
    for (const size of [0, 1, 65_536, mebibyte, largestBytes]) {
      const bytes = sample(size);
      strictEqual(await store.create(`size/${size}`, bytes), true);
      expectBytes(await store.read(`size/${size}`, whole), bytes);
      const offset = size >> 1;
      expectBytes(
        await store.read(`size/${size}`, { offset, length: mebibyte }),
        bytes.slice(offset, offset + mebibyte),
      );
    }
  },

  async "takes no memory for what a range has beyond the end"(open) {
    const store = await open();
    await store.create("key", sample(10));
    for (const offset of [0, 5]) {
      const part = await store.read("key", { offset, length: longestBytes });
      expectBytes(part, sample(10).slice(offset));
      ok((part as Uint8Array).buffer.byteLength < longestBytes, "it took memory for all that was asked for");
    }
  },

  async "stores just the part of a buffer that it is given"(open) {
    const store = await open();
    const around = sample(100);
    await store.create("view", around.subarray(7, 20));
    await store.create("node", Buffer.from(around.buffer, 20, 0));
    expectBytes(await store.read("view", whole), around.slice(7, 20));
    expectBytes(await store.read("node", whole), sample(0));
  },

  async "shares no bytes with its caller"(open) {
    const store = await open();
    const input = sample(5000);
    await store.create("key", input);
    input.fill(0);
    for (const range of [whole, { offset: 0, length: 5000 }, { offset: 10, length: 100 }]) {
      (await store.read("key", range))?.fill(0);
      expectBytes(await store.read("key", whole), sample(5000));
    }
  },

  async "lists in byte order by prefix, limit and after"(open) {
    const store = await open();
    const keys = [
      "0",
      "9/a",
      "a/0",
      "a/b",
      "a/b0",
      "a/b1/c",
      "a/z/z/z",
      "a0",
      "a00/a",
      "aa",
      "ab/a",
      "b",
      "z/9",
    ];
    for (const key of shuffled(keys)) await store.create(key, sample(1));
    const prefixes = ["", "a", "a/", "a/b", "a/b1", "a/b1/", "a0", "b", "c", "zz/"];
    const afters = [undefined, "0", "9", "a", "a/b", "a/b0", "a/b1", "a/zz", "a0", "a000", "z/9", "zz"];
    for (const prefix of prefixes) {
      for (const after of afters) {
        for (const limit of [undefined, 0, 1, 2, 100]) {
          const expected = keys
            .filter((key) => key.startsWith(prefix) && (after === undefined || key > after))
            .slice(0, limit);
          const options = { ...(limit !== undefined && { limit }), ...(after !== undefined && { after }) };
          const message = `list of "${prefix}" with ${JSON.stringify(options)}`;
          deepStrictEqual(await store.list(prefix, options), expected, message);
        }
      }
    }
  },

  async "lists and deletes more than 1,000 keys"(open) {
    const store = await open();
    await store.create("manx", sample(1));
    await store.create("manz", sample(1));
    await Promise.all(shuffled(manyKeys).map((key) => store.create(key, sample(1))));
    deepStrictEqual(await store.list("many/"), manyKeys);
    deepStrictEqual(await store.list("", { limit: 1050, after: "many" }), manyKeys.slice(0, 1050));
    const paged: string[] = [];
    for (let after = ""; paged.length <= manyKeys.length;) {
      const page = await store.list("many/", { limit: 300, after });
      if (page.length === 0) break;
      paged.push(...page);
      after = page[page.length - 1];
    }
    deepStrictEqual(paged, manyKeys);
    await store.delete(manyKeys);
    deepStrictEqual(await store.list(""), ["manx", "manz"]);
  },

  async "takes every character and the longest keys"(open) {
    const store = await open();
    const keys = [
      ...alphabet,
      `every/${alphabet}/${[...alphabet].reverse().join("")}`,
      `parts/${Array.from({ length: 253 }, (_, i) => alphabet[i % 36]).join("/")}`,
      `long/${"l".repeat(250)}`,
      `longest/${"x".repeat(250)}/${"y".repeat(250)}/z`,
      `longest/${"x".repeat(250)}/${"y".repeat(250)}/zz`,
    ];
    for (const [i, key] of keys.entries()) strictEqual(await store.create(key, sample(50, i)), true, key);
    for (const [i, key] of keys.entries()) expectBytes(await store.read(key, whole), sample(50, i), key);
    deepStrictEqual(await store.list(""), [...keys].sort());
    await store.delete(keys);
    deepStrictEqual(await store.list(""), []);
  },

  async "deletes blobs that exist and ignores the rest"(open) {
    const store = await open();
    for (const key of ["a", "b", "c/d", "c/e"]) await store.create(key, sample(9));
    await store.delete([]);
    await store.delete(["absent", "a", "absent/too", "c/d", "a"]);
    await store.delete(["a"]);
    strictEqual(await store.read("a", whole), null);
    strictEqual(await store.read("c/d", whole), null);
    expectBytes(await store.read("b", whole), sample(9));
    deepStrictEqual(await store.list(""), ["b", "c/e"]);
  },

  async "deletes in the order given"(open) {
    const [store, other] = [await open(), await open()];
    const keys = shuffled(Array.from({ length: 200 }, (_, i) => `order/${i}`));
    await Promise.all(keys.map((key) => store.create(key, sample(1))));
    const deletion = { running: true };
    const deleted = store.delete(keys).finally(() => {
      deletion.running = false;
    });
    const watched = [keys[0], keys[keys.length >> 1], keys[keys.length - 1]];
    while (deletion.running) {
      // The later key is read first: once it is gone, each before it is.
      const third = await other.read(watched[2], whole);
      const second = await other.read(watched[1], whole);
      const first = await other.read(watched[0], whole);
      ok(second !== null || first === null, "a key was deleted before one that precedes it");
      ok(third !== null || second === null, "a key was deleted before one that precedes it");
      await new Promise(setImmediate);
    }
    await deleted;
  },

  async "creates a deleted key again"(open) {
    const store = await open();
    for (let i = 0; i < 3; i++) {
      strictEqual(await store.create("key", sample(100, i)), true);
      expectBytes(await store.read("key", whole), sample(100, i));
      await store.delete(["key"]);
    }
    strictEqual(await store.read("key", whole), null);
  },

  async "shows every change to other handles at once"(open) {
    const [first, second] = [await open(), await open()];
    strictEqual(await second.read("x/y", whole), null);
    deepStrictEqual(await second.list("x"), []);
    for (let i = 0; i < 10; i++) {
      const [writer, reader] = i % 2 === 0 ? [first, second] : [second, first];
      strictEqual(await writer.create("x/y", sample(10, i)), true);
      expectBytes(await reader.read("x/y", whole), sample(10, i));
      deepStrictEqual(await reader.list("x"), ["x/y"]);
      strictEqual(await reader.create("x/y", sample(11)), false);
      await reader.delete(["x/y"]);
      strictEqual(await writer.read("x/y", whole), null);
      deepStrictEqual(await writer.list("x"), []);
    }
  },

  async "leaves a blob whole or absent when its create is aborted, and keeps working"(open) {
    const store = await open();
    await store.create("key", sample(1000));
    const delays = [undefined, 0, 1, 3, 10];
    for (const [i, delayMs] of delays.entries()) {
      const controller = new AbortController();
      const { signal } = controller;
      if (delayMs === undefined) controller.abort();
      else setTimeout(() => controller.abort(), delayMs);
      const bytes = sample(4 * mebibyte, i);
      const [read, listed, created] = await Promise.allSettled([
        store.read("key", whole, { signal }),
        store.list("key", { signal }),
        store.create(`aborted/${i}`, bytes, { signal }),
        store.delete(["absent"], { signal }),
      ]);
      if (read.status === "fulfilled") expectBytes(read.value, sample(1000));
      if (listed.status === "fulfilled") deepStrictEqual(listed.value, ["key"]);
      const found = await store.read(`aborted/${i}`, whole);
      if (created.status === "fulfilled") strictEqual(created.value, true);
      if (created.status === "fulfilled" || found !== null) expectBytes(found, bytes, "an aborted create");
      expectBytes(await store.read("key", whole), sample(1000));
    }
    strictEqual(await store.create("after", sample(10)), true);
    expectBytes(await store.read("after", whole), sample(10));
  },

  async "takes thousands of calls at once"(open) {
    const store = await open();
    const bytes = sample(4000);
    await store.create("key", bytes);
    const offsets = Array.from({ length: 3000 }, (_, i) => i);
    const parts = await Promise.all(offsets.map((offset) => store.read("key", { offset, length: 10 })));
    for (const [offset, part] of parts.entries()) expectBytes(part, bytes.slice(offset, offset + 10));
  },
};

/** Bytes that depend on length and seed, without a period that a block size could hide. */
export function sample(length: number, seed = 0): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  let state = (length ^ (seed * 0x9e3779b1)) | 1;
  for (let i = 0; i < words.length; i++) {
    // xorshift32 (Marsaglia, 2003).
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return new Uint8Array(words.buffer, 0, length);
}

function shuffled<T>(values: readonly T[]): T[] {
  const order = sample(4 * values.length, 1);
  const rank = new Uint32Array(order.buffer);
  return [...values.keys()].sort((a, b) => rank[a] - rank[b]).map((i) => values[i]);
}

export function expectBytes(actual: Uint8Array | null, expected: Uint8Array, what = "bytes"): void {
  ok(actual !== null, `${what}: expected a blob, got null`);
  strictEqual(actual.length, expected.length, `${what}: length`);
  strictEqual(Buffer.compare(actual, expected), 0, `${what}: contents of ${expected.length} bytes`);
}
