/**
 * Writers, readers, a trainer and a collector on one index while something happens to its storage: for the tests of each
 * location, which know how to restart its server.
 */

import { expect } from "vitest";
import { createClient, generateKey, SealdexError, type VectorIndex } from "../../src/core.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import type { StorageLocation } from "../../src/storage/location.js";
import { monotonicMs } from "./child.js";
import { type AddedBatch, expectPrefixes, type Read } from "./prefix.js";

const writers = 3;
const readers = 2;
const batchItems = 2;
/** Calls of each worker that succeed before and after. */
const callsMin = 10;
/** Within which everybody must be at work again. */
const recoveryMsMax = 600_000;

export interface MixedLoad {
  readonly acknowledged: number;
  readonly reads: number;
  /** Calls that failed, each with `storage_unavailable`. */
  readonly failed: number;
}

/**
 * Runs the load, and `disturb` in the middle of it; each worker has a client of its own. Fails where a call gives a wrong
 * answer or an error other than `storage_unavailable`, where an acknowledged batch is lost, or where a worker is not back at
 * work, without anybody's help, ten minutes after `disturb` resolved.
 */
export async function mixedLoad(
  location: StorageLocation | BlobStore,
  disturb: () => Promise<void>,
): Promise<MixedLoad> {
  const options = { indexName: `mixed ${Math.random()}`, indexKey: generateKey() };
  const clients = Array.from({ length: writers + readers + 2 }, () =>
    createClient({ indexLocation: location }),
  );
  await clients[0].createIndex(options);
  const batches: AddedBatch[] = [];
  const reads: Read[] = [];
  let failed = 0;
  let disturbed: number | undefined;

  /** Of each worker, since the beginning or, once it is over, the disturbance. */
  let succeeded = clients.map(() => 0);
  let isLoaded = () => {};
  const loaded = new Promise<void>((resolve) => (isLoaded = resolve));
  const everybodyWorked = () => succeeded.every((calls) => calls >= callsMin);

  /** Calls over and over, until every worker succeeded often enough after the disturbance. */
  async function work(number: number, call: (index: VectorIndex, n: number) => Promise<void>): Promise<void> {
    let index: VectorIndex | undefined;
    for (let n = 0; ; n++) {
      const began = monotonicMs();
      try {
        index ??= await clients[number].loadIndex(options);
        await call(index, n);
        if (began > (disturbed ?? 0)) succeeded[number]++;
      } catch (error) {
        if (!(error instanceof SealdexError && error.code === "storage_unavailable")) throw error;
        failed++;
        if (disturbed !== undefined && began > disturbed + recoveryMsMax) throw error;
      }
      if (everybodyWorked()) {
        if (disturbed !== undefined) return;
        isLoaded();
      }
      // Whoever succeeded often enough leaves the processor to the others.
      await new Promise((resolve) => setTimeout(resolve, succeeded[number] < callsMin ? 5 : 50));
    }
  }

  async function write(writer: number, index: VectorIndex, n: number): Promise<void> {
    const ids = Array.from({ length: batchItems }, (_, i) => `${writer}-${n}-${i}`);
    const began = monotonicMs();
    try {
      await index.upsert(ids.map((id, i) => ({ id, vector: [n, i, writer] })));
      batches.push({ ids, began, ended: monotonicMs() });
    } catch (error) {
      batches.push({ ids, began, ended: Infinity });
      throw error;
    }
  }

  async function read(index: VectorIndex): Promise<void> {
    const began = monotonicMs();
    const ids = await index.listIds();
    reads.push({ ids, began, ended: monotonicMs() });
  }

  const workers = [
    ...Array.from({ length: writers }, (_, w) => work(w, (index, n) => write(w, index, n))),
    ...Array.from({ length: readers }, (_, r) => work(writers + r, read)),
    work(writers + readers, async (index) => {
      if ((await index.count()) > 10) await index.train({ nLists: 3 });
    }),
    work(writers + readers + 1, async (index) => {
      await index.query({ queryVector: [1, 1, 1], topK: 5 });
    }),
  ];
  const disturbance = loaded.then(disturb).then(() => {
    succeeded = succeeded.map(() => 0);
    disturbed = monotonicMs();
  });
  // Whoever fails first ends the wait; the others end by themselves.
  await Promise.all([disturbance, ...workers]);

  const last = clients[0];
  const index = await last.loadIndex(options);
  await read(index);
  expectPrefixes(batches, reads);
  await last.deleteIndex(options);
  for (const client of clients) await client.close();
  const acknowledged = batches.filter(({ ended }) => ended < Infinity).length;
  expect(acknowledged).toBeGreaterThanOrEqual(2 * callsMin * writers);
  return { acknowledged, reads: reads.length, failed };
}
