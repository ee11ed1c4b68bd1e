/**
 * Orphans: the remaining objects of indexes that were deleted, or whose creation or deletion was interrupted. The manifests
 * are stored next to the records, so an index id with manifests and without a record is an orphan, unless it is being created
 * at this moment. So it is marked when it is first seen, and deleted by a process that sees it a day later.
 */

import type { BlobStore } from "../storage/blob-store.js";
import type { Clock } from "../commit/clock.js";
import { uploadMs } from "../commit/retention.js";
import { equalInConstantTime } from "../crypto/keys.js";
import { indexIdOf } from "./index-record.js";
import { foldersOf, type IndexFolders } from "./open-index.js";
import { indexesByName } from "./recorded-indexes.js";
import { listRecords } from "./record-access.js";
import {
  orphanName,
  orphanPrefix,
  orphanedSince,
  type IndexPlace,
  indexPrefix,
  manifestPrefix,
  namespacesPrefix,
} from "../commit/object-names.js";

/** Marks an index that has no record any more: its objects are kept for a day, for writers that do not know yet. `folder`: the one that has its manifests. */
export async function markOrphan(folder: BlobStore, indexId: Uint8Array, now: number): Promise<void> {
  await folder.create(orphanName(indexId, now), new Uint8Array(0));
}

/**
 * Deletes the objects of indexes without a record that were first seen a day ago. Returns the number of indexes. Throws
 * `corrupt` if the record of a name is damaged that several indexes have had, since it is unknown which it belongs to.
 */
export async function deleteOrphans(
  stores: IndexFolders,
  clock: Clock,
  signal?: AbortSignal,
): Promise<number> {
  let deleted = 0;
  for await (const { indexName, indexIds, isRecorded } of indexesByName(stores.configStore, signal)) {
    // The objects of an index are stored before its record: if there is only one, the record is of that one.
    if (isRecorded && indexIds.length === 1) continue;
    for (const indexId of indexIds) {
      if (signal?.aborted) return deleted;
      if (await deleteIfOrphan(stores, { indexName, indexId }, clock)) deleted++;
    }
  }
  return deleted;
}

/** Marks an index without a record, or deletes it, if it was marked a day ago. Returns whether it was deleted. */
async function deleteIfOrphan(stores: IndexFolders, place: IndexPlace, clock: Clock): Promise<boolean> {
  const folders = foldersOf(stores, place.indexName);
  const [mark] = await folders.configStore.list(orphanPrefix(place.indexId), { limit: 1 });
  // Read after the mark: an index that has a record by now was only being created when it was marked.
  if (await hasRecord(stores.configStore, place)) return false;
  if (mark === undefined) {
    await markOrphan(folders.configStore, place.indexId, clock.wall());
    return false;
  }
  if (clock.wall() - orphanedSince(mark) < uploadMs) return false;
  await deleteOrphan(folders, place.indexId);
  return true;
}

/** Whether a record of the name is of this index. */
async function hasRecord(configStore: BlobStore, { indexName, indexId }: IndexPlace): Promise<boolean> {
  const names = await listRecords(configStore, indexName);
  const records = await Promise.all(names.map((name) => configStore.read(name)));
  return records.some((bytes) => bytes !== null && equalInConstantTime(indexIdOf(indexName, bytes), indexId));
}

/** Manifests last, and in ascending order: while one exists, the rest can be found. */
export async function deleteOrphan(
  { indexStore, configStore }: IndexFolders,
  indexId: Uint8Array,
): Promise<void> {
  await configStore.delete(await configStore.list(namespacesPrefix(indexId)));
  await deleteObjects(indexStore, indexId);
  const manifests = await configStore.list(manifestPrefix(indexId));
  await configStore.delete(manifests.reverse());
  await configStore.delete(await configStore.list(orphanPrefix(indexId)));
}

/** Deletes all objects of an index except its manifests and mark. */
export async function deleteObjects(folder: BlobStore, indexId: Uint8Array): Promise<void> {
  const names = await folder.list(indexPrefix(indexId));
  const kept = [manifestPrefix(indexId), orphanPrefix(indexId)];
  await folder.delete(names.filter((name) => !kept.some((prefix) => name.startsWith(prefix))));
}
