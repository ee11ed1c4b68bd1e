/** A store that counts how many operations had to wait for one another: its round trips in a row. */

import type { BlobStore } from "../../src/storage/blob-store.js";

export interface WaveStore {
  readonly store: BlobStore;
  /** Runs `work` and gives the length of the longest chain of operations in it, and what they were. */
  measure(work: () => Promise<unknown>): Promise<{ depth: number; operations: string[] }>;
}

/** Longer than what is computed between two operations that do not wait for each other. */
const latencyMs = 40;

/**
 * An operation follows those that had ended when it began: it is one deeper than the deepest of them. Each takes long
 * enough for all that are begun at the same time to begin before one ends.
 */
export function createWaveStore(inner: BlobStore): WaveStore {
  let deepestEnded = 0;
  let operations: string[] = [];

  async function wave<T>(name: string, run: () => Promise<T>): Promise<T> {
    const depth = deepestEnded + 1;
    operations.push(`${depth}: ${name.replace(/[0-9a-f]{32}/g, (id) => id.slice(0, 4))}`);
    await new Promise((resolve) => setTimeout(resolve, latencyMs));
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
