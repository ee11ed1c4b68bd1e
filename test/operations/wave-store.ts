/** A store that counts how many operations had to wait for one another: its round trips in a row. */

import { setImmediate as turn } from "node:timers/promises";
import type { BlobStore } from "../../src/storage/blob-store.js";

export interface WaveStore {
  readonly store: BlobStore;
  /** Runs `work` and gives the length of the longest chain of operations in it, and what they were. */
  measure(work: () => Promise<unknown>): Promise<{ depth: number; operations: string[] }>;
}

/** Turns of the event loop in which nothing was begun, before what was begun goes on. */
const quietTurns = 50;

/**
 * Operations come in waves: those that were begun go on together, once nothing more is begun without them. Each is one deeper
 * than the deepest that had ended when it began.
 */
export function createWaveStore(inner: BlobStore): WaveStore {
  let deepestEnded = 0;
  let operations: string[] = [];
  let begun = 0;
  let goOn: Promise<void> | undefined;

  async function untilQuiet(): Promise<void> {
    for (let turns = 0, seen = begun; turns < quietTurns; turns++) {
      await turn();
      if (begun > seen) turns = 0;
      seen = begun;
    }
    goOn = undefined;
  }

  async function wave<T>(name: string, run: () => Promise<T>): Promise<T> {
    const depth = deepestEnded + 1;
    operations.push(`${depth}: ${name.replace(/[0-9a-f]{32}/g, (id) => id.slice(0, 4))}`);
    begun++;
    await (goOn ??= untilQuiet());
    try {
      return await run();
    } finally {
      deepestEnded = Math.max(deepestEnded, depth);
    }
  }

  return {
    store: {
      read: (key, range) =>
        wave(`read ${key}${range ? ` ${range.offset}+${range.length}` : ""}`, () => inner.read(key, range)),
      create: (key, bytes) => wave(`create ${key}`, () => inner.create(key, bytes)),
      list: (prefix, options) => wave(`list ${prefix}`, () => inner.list(prefix, options)),
      delete: (keys) => wave(`delete ${keys.length}`, () => inner.delete(keys)),
      close: () => inner.close(),
    },
    async measure(work) {
      deepestEnded = 0;
      operations = [];
      await work();
      return { depth: deepestEnded, operations };
    },
  };
}
