/** Rewriting: the live rows of some segments become new segments, in one commit. Training and compaction share it. */

import { listCount } from "../../engine/model.js";
import { run } from "../../engine/threads/run.js";
import type { OpenSegment, Snapshot } from "../../query/snapshot/snapshot.js";
import {
  areCommittable,
  byNamespace,
  type Manifest,
  namedObjects,
  type ObjectRef,
} from "../../state/commit/manifest.js";
import type { Namespace } from "../../state/commit/namespaces.js";
import {
  type Replacement,
  replaceSegments,
  type StoredSegment,
} from "../../state/commit/replace-segments.js";
import { entryFingerprint, tombstone } from "../../state/segment/id-table.js";
import type { Grouped } from "../../state/segment/row-source.js";
import { groupByList } from "../../state/segment/segment-writer.js";
import { dimensionOf } from "../open/dimension.js";
import type { OpenIndex } from "../open/open-index.js";
import { withEncoding } from "../open/row-encoding.js";
import { limitsOf, liveRowBatches, type RewritePlan, type RowBatch } from "./live-row-batches.js";
import { arrivingRows, isPartitioned, partitionRows } from "./partition-rows.js";

interface RewriteOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of rows that are stored. */
  readonly onRows?: (done: number) => void;
}

/**
 * Stores the live rows of the plan's segments, grouped as it says, and their tombstones unless nothing is older. New segments
 * are in memory up to five times: sealed while the next ones are read and collected. Rows of two segments are
 * collected at once, so that a list is in one of them; more than those are partitioned, see partition-rows.ts. In the order of lists, a list
 * goes into one segment of all, unless it is larger than two. Each namespace is rewritten by itself. If it fails, nothing of it stays.
 */
export async function rewrite(
  index: OpenIndex,
  plan: RewritePlan,
  { signal, onRows }: RewriteOptions = {},
): Promise<Replacement> {
  const old = plan.segments.map(({ ref }) => ref);
  const stored: StoredSegment[] = [];
  try {
    let done = 0;
    const add = (segment: StoredSegment) => {
      stored.push(segment);
      onRows?.((done += segment.rows));
    };
    for (const segments of byNamespace(plan.segments, ({ ref }) => ref)) {
      await rewriteNamespace(index, { ...plan, segments }, add, signal);
    }
    return { old, stored };
  } catch (error) {
    if (stored.length > 0) await index.store.delete(stored.map(({ name }) => name));
    throw error;
  }
}

/** The namespace that these segments belong to, if any. */
export async function namespaceOf(
  { namespaces }: OpenIndex,
  [{ ref }]: readonly OpenSegment[],
): Promise<Namespace | undefined> {
  return ref.namespace === undefined ? undefined : namespaces.byId(ref.namespace);
}

async function rewriteNamespace(
  index: OpenIndex,
  plan: RewritePlan,
  add: (segment: StoredSegment) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { snapshot, segments, target, segmentBytes } = plan;
  const dimension = dimensionOf(index, snapshot.manifest);
  if (dimension === undefined) return;
  const place = { modelName: target.name, namespace: await namespaceOf(index, segments) };
  let storing: Promise<void> = Promise.resolve();
  const group = ({ batch }: RowBatch) =>
    withEncoding(index.searcher, dimension, target.model, (encoding) =>
      run(groupByList(batch, encoding), signal),
    );
  const store = ({ batch, bytes }: RowBatch, grouped: Grouped) =>
    withEncoding(index.searcher, dimension, target.model, async (encoding) => {
      const parts = cutByList(grouped, bytes / segmentBytes);
      for (const [i, part] of parts.entries()) {
        const own = { ...batch, grouped: part, deleted: i === 0 ? batch.deleted : [] };
        add(await index.writer.storeSegment(own, encoding, place, signal));
      }
    });
  try {
    const inNamespace = snapshot.stored.filter(({ ref }) => ref.namespace === segments[0].ref.namespace);
    const isOldest = segments.every((segment, i) => segment === inNamespace[i]);
    const deleted = isOldest ? [] : await tombstonesOf(snapshot, segments);
    for await (const collected of batchesOf(index, plan, dimension, deleted, signal)) {
      signal?.throwIfAborted();
      // While the batch before is sealed, which threads have no part in.
      const grouped = await group(collected);
      await storing;
      storing = store(collected, grouped);
      // It is awaited later; until then its rejection must not count as unhandled.
      storing.catch(() => undefined);
    }
    await storing;
    signal?.throwIfAborted();
  } catch (error) {
    await storing.catch(() => undefined);
    throw error;
  }
}

/** Segments and a model that are stored together. */
function batchesOf(
  index: OpenIndex,
  plan: RewritePlan,
  dimension: number,
  deleted: readonly Uint8Array[],
  signal: AbortSignal | undefined,
): AsyncIterable<RowBatch> {
  const { model } = plan.target;
  if (model === undefined || !isPartitioned(index, plan))
    return liveRowBatches(index, plan, dimension, deleted);
  const arriving = liveRowBatches(index, plan, dimension, deleted, arrivingRows);
  return partitionRows(arriving, {
    dimension,
    nLists: listCount(model),
    limits: limitsOf(plan),
    listsOf: ({ batch }) =>
      index.searcher.withTrained(model, ({ quantizer }) => run(batch.source.listsOf(quantizer), signal)),
  });
}

/** Further changes of a rewrite to a manifest whose segments are replaced; null: nothing changes. */
export type AlsoChange = (latest: Manifest, replaced: Manifest) => Manifest | null;

/**
 * Commits a rewrite, as far as other processes have not replaced the same segments since, see `replaceSegments`. If nothing of
 * it applies or `also` declines, returns null and deletes the objects stored for it, `others` included. `reservation`: see `retryWithReservation`.
 */
export async function commitRewrite(
  index: OpenIndex,
  replacement: Replacement,
  others: readonly ObjectRef[],
  also: AlsoChange,
  reservation?: string,
): Promise<Manifest | null> {
  const objects = [...replacement.stored, ...others];
  const committed = await index.log.commit((latest) => {
    if (!areCommittable(latest, objects)) return null;
    const replaced = replaceSegments(latest, replacement);
    return replaced && also(latest, { ...latest, ...replaced });
  }, reservation);
  // Of a namespace that was erased meanwhile, none is committed.
  const named = committed === null ? new Set<string>() : namedObjects(committed);
  const unnamed = objects.filter(({ name }) => !named.has(name));
  if (unnamed.length > 0) await index.store.delete(unnamed.map(({ name }) => name));
  return committed;
}

// Cuts rows that go to several segments between their lists.

/** By how much of a segment rows may be too many, so that a little more than one does not make two. */
const slack = 0.25;

/** The rows in parts of about the same number, `segments` or fewer, one at least; each list is in one of them. */
export function cutByList({ order, runs }: Grouped, segments: number): Grouped[] {
  const rowsWanted = order.length / Math.max(1, Math.ceil(segments - slack));
  const parts: Grouped[] = [];
  for (let first = 0; first < runs.length || parts.length === 0;) {
    const start = runs[first]?.start ?? 0;
    let next = first;
    while (next < runs.length && runs[next].start - start < rowsWanted) next++;
    const own = runs.slice(first, next);
    parts.push({
      order: order.subarray(start, own.at(-1)?.end ?? start),
      runs: own.map(({ list, start: from, end }) => ({ list, start: from - start, end: end - start })),
    });
    first = next;
  }
  return parts;
}

// Tombstones on their way from old segments to new ones.

/**
 * Fingerprints that `segments` delete, except those that newer segments of `snapshot` shadow, and those of their rows that have
 * expired: older versions must not come back.
 */
async function tombstonesOf(snapshot: Snapshot, segments: readonly OpenSegment[]): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  for (const segment of segments) {
    for (const fingerprint of snapshot.expired.items.get(segment) ?? []) found.push(fingerprint);
    if (segment.ref.deleted === 0) continue;
    await snapshot.forEachEntry(
      segment,
      (row) => row === tombstone,
      (entry) => found.push(entryFingerprint(entry)),
    );
  }
  return found;
}
