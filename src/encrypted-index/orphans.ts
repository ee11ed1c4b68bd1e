/**
 * Orphans: the remaining objects of indexes that were deleted, or whose creation or deletion was interrupted. The manifests
 * are stored next to the records, so an index id with manifests and without a record is an orphan, unless it is being created
 * at this moment. So it is marked when it is first seen, and deleted by a process that sees it a day later.
 */

import type { BlobStore } from "../storage/blob-store.js";
import type { Clock } from "../commit/clock.js";
import { openFolder } from "../commit/index-folder.js";
import { uploadMs } from "../commit/retention.js";
import { indexIdOf } from "./index-record.js";
import { foldersOf, type IndexFolders } from "./open-index.js";
import {
  orphanName,
  orphanPrefix,
  orphanedSince,
  afterIndex,
  folderPrefix,
  indexesPrefix,
  indexNameOf,
  type IndexPlace,
  indexPlaceOf,
  indexPrefix,
  manifestPrefix,
  namespacesPrefix,
  namesPrefix,
} from "../commit/object-names.js";

/** Marks an index that has no record any more: its objects are kept for a day, for writers that do not know yet. `folder`: the one that has its manifests. */
export async function markOrphan(folder: BlobStore, indexId: Uint8Array, now: number): Promise<void> {
  await folder.create(orphanName(indexId, now), new Uint8Array(0));
}

interface Mark extends IndexPlace {
  readonly since?: number;
}

/**
 * Deletes the objects of indexes without a record that were first seen a day ago. Returns the number of indexes. Throws
 * `corrupt` if a record is damaged, since it is unknown which index it belongs to.
 */
export async function deleteOrphans(
  stores: IndexFolders,
  clock: Clock,
  signal?: AbortSignal,
): Promise<number> {
  const marks = await readMarks(stores.configStore);
  // Read after the marks: an index that has a record by now was only being created when it was marked.
  const recorded = await recordedPlaces(stores.configStore);
  let deleted = 0;
  for (const { indexName, indexId, since } of marks) {
    if (signal?.aborted) break;
    if (recorded.has(placeText({ indexName, indexId }))) continue;
    const folders = foldersOf(stores, indexName);
    if (since === undefined) await markOrphan(folders.configStore, indexId, clock.wall());
    else if (clock.wall() - since >= uploadMs) {
      await deleteOrphan(folders, indexId);
      deleted++;
    }
  }
  return deleted;
}

/** Every index with objects in the configuration location, and since when it is marked. */
async function readMarks(configStore: BlobStore): Promise<Mark[]> {
  const found: Mark[] = [];
  for (let after = indexesPrefix; ;) {
    const [key] = await configStore.list(indexesPrefix, { limit: 1, after });
    if (key === undefined) return found;
    after = afterIndex(key);
    const place = indexPlaceOf(key);
    if (place === undefined) continue;
    const folder = openFolder(configStore, place.indexName);
    const [mark] = await folder.list(orphanPrefix(place.indexId), { limit: 1 });
    found.push({ ...place, ...(mark !== undefined && { since: orphanedSince(mark) }) });
  }
}

/** The indexes that have a record. */
async function recordedPlaces(configStore: BlobStore): Promise<Set<string>> {
  const names = await configStore.list(namesPrefix);
  const places = names.map(async (name) => {
    const indexName = indexNameOf(name);
    const bytes = indexName === undefined ? null : await configStore.read(name);
    if (indexName === undefined || bytes === null) return [];
    return [placeText({ indexName, indexId: indexIdOf(indexName, bytes) })];
  });
  return new Set((await Promise.all(places)).flat());
}

function placeText({ indexName, indexId }: IndexPlace): string {
  return folderPrefix(indexName) + Buffer.from(indexId).toString("hex");
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
