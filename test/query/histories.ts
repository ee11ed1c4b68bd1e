/** Indexes and histories of writes that suites of searches share. */

import { afterAll, expect } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import type { OpenSegment } from "../../src/query/snapshot/snapshot.js";
import { recordId } from "../../src/state/segment/row.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";

export const named = (start: number, end: number) =>
  Array.from({ length: end - start }, (_, i) => `${start + i}`);
export const itemsOf = (ids: readonly string[]) => ids.map((id, i) => ({ id, vector: [i, 1] }));

/** The ids of the rows of a segment. */
export async function idsOf({ reader }: OpenSegment): Promise<string[]> {
  const { rows } = reader.footer;
  if (rows === 0) return [];
  return (await reader.records(Array.from({ length: rows }, (_, i) => i))).map(recordId);
}

/** Opens indexes in memory for the tests of a suite; after these, closes them, which must leave no kernel memory. */
export function indexesOfSuite(record = fixedRecord()) {
  const opened: Opened[] = [];
  const bytesBefore = allocatedBytes();
  afterAll(async () => {
    for (const { close } of opened) await close();
    // What was pinned was released: a closed cache keeps what is in use.
    expect(allocatedBytes()).toBe(bytesBefore);
  });
  /** The index that is in a store, or will be. */
  const openOver = (store: BlobStore): Opened => {
    const open = openIndex(record, store, systemClock);
    opened.push(open);
    return open;
  };
  const newIndex = async (store: BlobStore = createMemoryStore()): Promise<Opened> => {
    const open = openOver(store);
    await open.inner.log.createFirst();
    return open;
  };
  return { newIndex, openOver };
}

/** Writes that were made one after another: what each stored and deleted. */
export interface Write {
  readonly stored: readonly string[];
  readonly deleted: readonly string[];
}

export async function write({ index }: Opened, { stored, deleted }: Write): Promise<void> {
  if (stored.length > 0) await index.upsert(itemsOf(stored));
  if (deleted.length > 0) await index.delete({ ids: deleted });
}
