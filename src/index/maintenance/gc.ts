/**
 * Garbage collection: deletes the manifests that no reader needs any more, the objects that they dropped, and the orphans of
 * crashed writers. Any number of collectors may run, next to any number of readers and writers, and any of them may crash.
 *
 * Everything is decided by one manifest, the reference, which is at least a grace period old, or the newest if there is no grace.
 * A name enters the manifests once and leaves them once, so an object that an older version dropped and the reference does
 * not name is in no later one; nor is one that the reference does not name and that was born below its watermark.
 */

import { SealdexError } from "../../errors.js";
import {
  advanceWatermark,
  historyMs,
  isDue,
  uploadMs,
  type Watermark,
} from "../../state/commit/retention.js";
import { type Manifest, namedObjects } from "../../state/commit/manifest.js";
import {
  bornAt,
  isNumbered,
  manifestName,
  manifestPrefix,
  numberOf,
  indexObjectKinds,
  objectPrefix,
} from "../../state/commit/object-names.js";
import { compactAll } from "./compact.js";
import type { OpenIndex } from "../open/open-index.js";

export interface GcOptions {
  /**
   * How old, in milliseconds, a snapshot may be whose objects are still kept, and an object that is not committed. Default:
   * 15 minutes, and a day. With less, slow readers start again, and slow writers store their objects again;
   * neither fails. Manifests are kept for 15 minutes in any case.
   */
  readonly graceMs?: number;
  readonly signal?: AbortSignal;
}

export interface GcResult {
  readonly objects: number;
  readonly manifests: number;
}

/** Manifests read, and objects listed, at a time. */
const manifestsTogether = 32;
const namesTogether = 1000;

/** Collects on demand objects that are old enough, and advances the watermarks, so that more become old enough. */
export async function gc(index: OpenIndex, { graceMs, signal }: GcOptions = {}): Promise<GcResult> {
  // Without grace the watermarks advance twice: everything stored so far is older than the second.
  while (await advanceWatermarks(index, graceMs ?? uploadMs))
    if (graceMs !== 0 || (await advanceWatermarks(index, 0))) break;
  return collectOld(index, graceMs, signal);
}

/** Compaction on demand: merges all segments, and deletes unused objects. Throws as `compactAll`. */
export async function compactAndCollect(index: OpenIndex, signal: AbortSignal | undefined): Promise<void> {
  await compactAll(index, signal);
  await gc(index, signal === undefined ? {} : { signal });
  if (index.dropped.isWithoutGrace) await deleteDropped(index, signal);
  await index.dropped.deleteDue();
}

/** Collects after a commit that advanced a watermark. */
export async function gcAfterCommit(index: OpenIndex, signal: AbortSignal): Promise<void> {
  await collectOld(index, undefined, signal);
}

/** Collects all that no reader of this process needs, without writing anything: for a location that is full. */
export async function makeRoom(index: OpenIndex): Promise<void> {
  await collectOld(index, undefined, undefined);
  await deleteDropped(index, undefined);
}

async function advanceWatermarks(index: OpenIndex, uploadGraceMs: number): Promise<boolean> {
  const committed = await index.log.commit((latest) => {
    const now = index.clock.wall();
    const advanced = (watermark: Watermark, graceMs: number) =>
      advanceWatermark(watermark, latest.version + 1, now, graceMs);
    const uploads = advanced(latest.uploads, uploadGraceMs);
    if (uploads === latest.uploads && advanced(latest.history, historyMs) === latest.history) return null;
    return { ...latest, uploads };
  });
  return committed !== null;
}

async function collectOld(
  index: OpenIndex,
  graceMs: number | undefined,
  signal: AbortSignal | undefined,
): Promise<GcResult> {
  const latest = await index.log.newest();
  const reference = await manifestAt(index, latest, referenceVersion(latest, index.clock.wall(), graceMs));
  const floor = await manifestAt(index, latest, latest.history.floor);
  // Another collector has progressed further.
  if (reference === null || floor === null) return { objects: 0, manifests: 0 };
  const left = await deleteUnnamed(index, reference, signal);
  const { objects, manifests } = await deleteHistory(index, floor, signal);
  // Of erasures that were interrupted.
  if (latest.erasures !== undefined)
    await index.namespaces.destroy(await index.namespaces.deadObjectNames(latest));
  if (index.access.isUnsettled(latest)) await index.access.completeChange();
  return { objects: left + objects, manifests };
}

/** The newest version that is certainly `graceMs` old. */
function referenceVersion({ version, history }: Manifest, now: number, graceMs = historyMs): number {
  if (graceMs === 0) return version;
  return graceMs < historyMs && isDue(history, now, graceMs) ? history.next : history.floor;
}

async function manifestAt(index: OpenIndex, latest: Manifest, version: number): Promise<Manifest | null> {
  return version === latest.version ? latest : index.log.manifestAt(version);
}

/** Deletes objects that the reference does not name and that can no longer be committed. */
async function deleteUnnamed(
  index: OpenIndex,
  reference: Manifest,
  signal: AbortSignal | undefined,
): Promise<number> {
  const named = namedObjects(reference);
  let deleted = 0;
  for (const kind of indexObjectKinds) {
    // Names ascend by birth: old objects come first, and most of them are named.
    for (let after: string | undefined; ;) {
      if (signal?.aborted) return deleted;
      const names = await index.store.list(objectPrefix(index.indexId, kind), {
        limit: namesTogether,
        ...(after !== undefined && { after }),
      });
      const old = names.filter((name) => bornAt(name) < reference.uploads.floor);
      const unnamed = old.filter((name) => !named.has(name));
      await index.store.delete(unnamed);
      deleted += unnamed.length;
      if (old.length < namesTogether) break;
      after = names[names.length - 1];
    }
  }
  return deleted;
}

/** Deletes objects that the stored manifests dropped, except those that readers of this process use: without grace for others. */
async function deleteDropped(index: OpenIndex, signal: AbortSignal | undefined): Promise<void> {
  // A writer that died may have left a collection that names an older state of this shard, whose objects it needs.
  await index.log.anchorNewest();
  const named = namedObjects(await index.log.newest());
  const prefix = manifestPrefix(index.indexId);
  const names = (await index.log.store.list(prefix)).filter((name) => isNumbered(name, prefix));
  for (let start = 0; start < names.length; start += manifestsTogether) {
    signal?.throwIfAborted();
    const batch = names.slice(start, start + manifestsTogether);
    const dropped = (await Promise.all(batch.map((name) => droppedBy(index, numberOf(name))))).flat();
    const used = index.dropped.namesInUse();
    await index.store.delete(dropped.filter((name) => !named.has(name) && !used.has(name)));
  }
}

/** Deletes the manifests before `floor`, in ascending order, each after the objects that it dropped. */
async function deleteHistory(
  index: OpenIndex,
  floor: Manifest,
  signal: AbortSignal | undefined,
): Promise<GcResult> {
  const named = namedObjects(floor);
  const prefix = manifestPrefix(index.indexId);
  const listed = await index.log.store.list(prefix, { after: manifestName(index.indexId, floor.version) });
  const names = listed.filter((name) => isNumbered(name, prefix)).reverse();
  let objects = 0;
  let manifests = 0;
  while (manifests < names.length) {
    if (signal?.aborted) break;
    const batch = names.slice(manifests, manifests + manifestsTogether);
    const perManifest = await Promise.all(batch.map((name) => droppedBy(index, numberOf(name))));
    // A suspended writer may have left a manifest that is not part of the history: objects that it dropped may be live.
    const dropped = perManifest.flat().filter((name) => !named.has(name));
    await index.store.delete(dropped);
    await index.log.store.delete(batch);
    objects += dropped.length;
    manifests += batch.length;
  }
  return { objects, manifests };
}

async function droppedBy(index: OpenIndex, version: number): Promise<readonly string[]> {
  try {
    return (await index.log.manifestAt(version))?.droppedObjects ?? [];
  } catch (error) {
    // Damaged: objects that it dropped are found by their birth, a day later.
    if (error instanceof SealdexError && error.code === "corrupt") return [];
    throw error;
  }
}
