/**
 * Which indexes a configuration location has objects of, and which names have records: in pages, in the order of keys, for locations
 * with any number of indexes.
 */

import { afterIndex, indexesPrefix, indexNameOf, indexPlaceOf, namesPrefix } from "../commit/object-names.js";
import type { BlobStore } from "../storage/blob-store.js";
import { yieldIfDue } from "../threads/yield-to-event-loop.js";

/** Keys that are listed at a time. */
const pageKeys = 5000;
/** Keys that are looked at before it is time to look at the clock. */
const together = 64;

/** The indexes that have had one name, as far as there are objects of them. */
export interface IndexesOfName {
  readonly indexName: string;
  readonly indexIds: readonly Uint8Array[];
  /** Whether there is a record under the name, of whichever of them. */
  readonly isRecorded: boolean;
}

export async function* indexesByName(
  configStore: BlobStore,
  signal: AbortSignal | undefined,
): AsyncGenerator<IndexesOfName> {
  const recorded = recordedFolders(configStore, signal);
  let record = await recorded.next();
  let folder = "";
  let indexName: string | undefined;
  let indexIds: Uint8Array[] = [];
  async function* found(): AsyncGenerator<IndexesOfName> {
    if (indexName === undefined) return;
    while (!record.done && record.value < folder) record = await recorded.next();
    yield { indexName, indexIds, isRecorded: record.value === folder };
  }
  for await (const key of keysOf(configStore, indexesPrefix, afterIndex, signal)) {
    const place = indexPlaceOf(key);
    if (place === undefined) continue;
    if (folderOf(key) !== folder) {
      yield* found();
      [folder, indexName, indexIds] = [folderOf(key), place.indexName, []];
    }
    indexIds.push(place.indexId);
  }
  yield* found();
}

/** The folders below `names/` that have records. Those of one name may come more than once. */
async function* recordedFolders(
  configStore: BlobStore,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, undefined> {
  for await (const key of keysOf(configStore, namesPrefix, (last) => last, signal))
    if (indexNameOf(key) !== undefined) yield folderOf(key);
  return undefined;
}

/** The keys below a prefix, without those between one of them and what `next` makes of it. */
async function* keysOf(
  store: BlobStore,
  prefix: string,
  next: (key: string) => string,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  for (let after = prefix; ;) {
    const keys = await store.list(prefix, { limit: pageKeys, after, signal });
    for (const [i, key] of keys.entries()) {
      if (i % together === 0) await yieldIfDue();
      if (key <= after) continue;
      after = next(key);
      yield key;
    }
    signal?.throwIfAborted();
    if (keys.length < pageKeys) return;
  }
}

/** The part of a key that stands for the name of an index. */
function folderOf(key: string): string {
  return key.split("/", 2)[1];
}
