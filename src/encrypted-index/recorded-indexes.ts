/**
 * Which indexes a configuration location has objects of, and which names have records: in pages, in the order of keys, for locations
 * with any number of indexes.
 */

import { afterIndex, indexesPrefix, indexNameOf, indexPlaceOf, namesPrefix } from "../commit/object-names.js";
import type { BlobStore } from "../storage/blob-store.js";
import { keysInPages } from "./keys-in-pages.js";

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
  for await (const key of keysInPages(configStore, indexesPrefix, { next: afterIndex, signal })) {
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
  for await (const key of keysInPages(configStore, namesPrefix, { signal }))
    if (indexNameOf(key) !== undefined) yield folderOf(key);
  return undefined;
}

/** The part of a key that stands for the name of an index. */
function folderOf(key: string): string {
  return key.split("/", 2)[1];
}
