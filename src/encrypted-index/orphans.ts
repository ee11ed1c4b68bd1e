/**
 * Orphans: the remaining objects of indexes that were deleted, or whose creation or deletion was interrupted. The manifests
 * are stored next to the records, so an index id with manifests and without a record is an orphan, unless it is being created
 * at this moment. So it is marked when it is first seen, and deleted by a process that sees it a day later.
 */

import type { BlobStore } from "../storage/blob-store.js";
import type { Clock } from "../commit/clock.js";
import { uploadMs } from "../commit/retention.js";
import { indexIdOf } from "./index-record.js";
import {
  orphanName,
  orphanPrefix,
  orphanedSince,
  afterFolder,
  indexesPrefix,
  indexIdIn,
  indexNameOf,
  indexPrefix,
  manifestPrefix,
  namespacesPrefix,
  namesPrefix,
} from "../commit/object-names.js";

/** Marks an index that has no record any more: its objects are kept for a day, for writers that do not know yet. */
export async function markOrphan(configStore: BlobStore, indexId: Uint8Array, now: number): Promise<void> {
  await configStore.create(orphanName(indexId, now), new Uint8Array(0));
}

/**
 * Deletes the objects of indexes without a record that were first seen a day ago. Returns the number of indexes. Throws
 * `corrupt` if a record is damaged, since it is unknown which index it belongs to.
 */
export async function deleteOrphans(
  indexStore: BlobStore,
  configStore: BlobStore,
  clock: Clock,
  signal?: AbortSignal,
): Promise<number> {
  const marks = await readMarks(configStore);
  // Read after the marks: an index that has a record by now was only being created when it was marked.
  const recorded = await recordedIds(configStore);
  let deleted = 0;
  for (const { indexId, since } of marks) {
    if (signal?.aborted) break;
    if (recorded.has(Buffer.from(indexId).toString("hex"))) continue;
    if (since === undefined) await markOrphan(configStore, indexId, clock.wall());
    else if (clock.wall() - since >= uploadMs) {
      await deleteOrphan(indexStore, configStore, indexId);
      deleted++;
    }
  }
  return deleted;
}

/** Every index with objects in the configuration location, and since when it is marked. */
async function readMarks(
  configStore: BlobStore,
): Promise<{ readonly indexId: Uint8Array; readonly since?: number }[]> {
  const found: { readonly indexId: Uint8Array; readonly since?: number }[] = [];
  for (let after = indexesPrefix; ;) {
    const [key] = await configStore.list(indexesPrefix, { limit: 1, after });
    if (key === undefined) return found;
    after = afterFolder(key);
    const indexId = indexIdIn(key);
    if (indexId === undefined) continue;
    const [mark] = await configStore.list(orphanPrefix(indexId), { limit: 1 });
    found.push({ indexId, ...(mark !== undefined && { since: orphanedSince(mark) }) });
  }
}

async function recordedIds(configStore: BlobStore): Promise<Set<string>> {
  const names = await configStore.list(namesPrefix);
  const ids = names.map(async (name) => {
    const indexName = indexNameOf(name);
    const bytes = indexName === undefined ? null : await configStore.read(name);
    if (indexName === undefined || bytes === null) return [];
    return [Buffer.from(indexIdOf(indexName, bytes)).toString("hex")];
  });
  return new Set((await Promise.all(ids)).flat());
}

/** Manifests last, and in ascending order: while one exists, the rest can be found. */
export async function deleteOrphan(
  indexStore: BlobStore,
  configStore: BlobStore,
  indexId: Uint8Array,
): Promise<void> {
  await configStore.delete(await configStore.list(namespacesPrefix(indexId)));
  await deleteObjects(indexStore, indexId);
  const manifests = await configStore.list(manifestPrefix(indexId));
  await configStore.delete(manifests.reverse());
  await configStore.delete(await configStore.list(orphanPrefix(indexId)));
}

/** Deletes all objects of an index except its manifests and mark. */
export async function deleteObjects(indexStore: BlobStore, indexId: Uint8Array): Promise<void> {
  const names = await indexStore.list(indexPrefix(indexId));
  const kept = [manifestPrefix(indexId), orphanPrefix(indexId)];
  await indexStore.delete(names.filter((name) => !kept.some((prefix) => name.startsWith(prefix))));
}
