/**
 * Rewriting: live rows of some segments become new segments, which take their place in one commit. What
 * training and compaction share.
 */

import type { Model } from "../engine/model.js";
import type { Row } from "../segment/row.js";
import { type Batch, groupByList } from "../segment/segment-writer.js";
import { entryFingerprint, tombstone } from "../segment/id-table.js";
import type { SegmentReader } from "../segment/segment-reader.js";
import { run } from "../threads/run.js";
import { cutByList } from "./cut-by-list.js";
import type { Change } from "../commit/group-commit.js";
import { type BlockOrder, liveBlocks } from "./live-blocks.js";
import { areCommittable, type Manifest, type SegmentRef } from "../commit/manifest.js";
import { joinMoved, move, type MovedRows } from "./move-rows.js";
import { withEncoding } from "./encoding.js";
import type { StoredSegment } from "./object-writer.js";
import type { OpenIndex } from "./open-index.js";
import type { OpenSegment, Snapshot } from "../search/snapshot.js";

/** Rows collected at once: each is a few objects, and more of them make the garbage collector hold the event loop. */
export const collectedRowsMax = 2 ** 16;

/** The model by whose lists rows are grouped, and its name; neither: they are not grouped. */
export interface TargetModel {
  readonly model?: Model;
  readonly name?: string;
}

/** How a rewrite goes about it, and who follows it. */
export interface RewriteOptions {
  /** Default: by segment. */
  readonly order?: BlockOrder;
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of rows that are stored. */
  readonly onRows?: (done: number) => void;
}

/**
 * Stores the live rows of `segments` anew, grouped as `grouping` says; `deleted` are kept as tombstones. A new segment
 * has about `segmentBytes` of vectors and texts, which are in memory up to six times: sealed and joined while the next
 * ones are read and collected. Rows of two segments are collected at once, so that a list is in one of them; in the order of
 * lists, a list goes into one segment of all, unless it is larger than two. Where it fails, nothing of it stays.
 */
export async function rewrite(
  index: OpenIndex,
  snapshot: Snapshot,
  segments: readonly OpenSegment[],
  dimension: number,
  grouping: TargetModel,
  deleted: readonly Uint8Array[],
  segmentBytes: number,
  { order = "by segment", signal, onRows }: RewriteOptions = {},
): Promise<StoredSegment[]> {
  const stored: StoredSegment[] = [];
  let done = 0;
  let storing: Promise<void> = Promise.resolve();
  const store = ({ batch, bytes }: Collected) =>
    withEncoding(index.searcher, dimension, grouping.model, async (encoding) => {
      const grouped = await run(groupByList(batch, encoding), signal);
      const parts = cutByList(grouped, bytes / segmentBytes);
      for (const [i, part] of parts.entries()) {
        const own = { ...batch, grouped: part, deleted: i === 0 ? batch.deleted : [] };
        const segment = await index.writer.storeSegment(own, encoding, grouping.name, signal);
        stored.push(segment);
        onRows?.((done += segment.rows));
      }
    });
  try {
    const moving = batches(index, snapshot, segments, dimension, grouping, deleted, segmentBytes, order);
    for await (const batch of moving) {
      signal?.throwIfAborted();
      await storing;
      storing = store(batch);
      // It is awaited later; until then its failure is nobody's unhandled rejection.
      storing.catch(() => undefined);
    }
    await storing;
    signal?.throwIfAborted();
    return stored;
  } catch (error) {
    await storing.catch(() => undefined);
    if (stored.length > 0) await index.store.delete(stored.map(({ name }) => name));
    throw error;
  }
}

interface Collected {
  readonly batch: Batch;
  /** Of its vectors and texts. */
  readonly bytes: number;
}

/** The live rows of `segments` as batches of about one or two segments; the first one holds the tombstones. */
async function* batches(
  index: OpenIndex,
  snapshot: Snapshot,
  segments: readonly OpenSegment[],
  dimension: number,
  { model, name }: TargetModel,
  deleted: readonly Uint8Array[],
  segmentBytes: number,
  order: BlockOrder,
): AsyncGenerator<Collected> {
  let rows: Row[] = [];
  let parts: MovedRows[] = [];
  let bytes = 0;
  let buried = deleted;
  const flush = async (): Promise<Collected> => {
    const collected = {
      batch: { dimension, rows, source: await joinMoved(parts, dimension), deleted: buried },
      bytes,
    };
    [rows, parts, bytes, buried] = [[], [], 0, []];
    return collected;
  };
  // Rows that have lists to be cut by.
  const together = model !== undefined && order === "by segment" ? 2 : 1;
  const readers = new Map<OpenSegment, readonly ReturnType<SegmentReader["forward"]>[]>();
  let list: number | undefined;
  for await (const live of liveBlocks(snapshot, segments, order)) {
    const { segment, block } = live;
    const { reader } = segment;
    const isLarge = bytes >= together * segmentBytes || rows.length >= collectedRowsMax;
    if (isLarge && (order === "by segment" || block.list !== list || bytes >= 2 * segmentBytes))
      yield await flush();
    list = block.list;
    // What was read ahead of the segments before is not needed any more.
    if (order === "by segment" && !readers.has(segment)) readers.clear();
    const forward = readers.get(segment) ?? [reader.forward("records"), reader.forward("contents")];
    readers.set(segment, forward);
    const places = live.kept.map((row) => block.firstRow + row);
    const [records, contents] = await Promise.all(forward.map((read) => read(places)));
    live.fingerprints.forEach((fingerprint, i) => {
      const record = records[i] as Uint8Array;
      rows.push({ fingerprint, record, contents: contents[i] });
      bytes += record.length + (contents[i]?.length ?? 0);
    });
    const moved = await withEncoding(index.searcher, dimension, model, (encoding) =>
      move(live, encoding, name, index.config),
    );
    parts.push(moved);
    bytes += moved.bytes;
  }
  if (rows.length > 0 || buried.length > 0) yield await flush();
}

/** Fingerprints that `segments` delete and do not hold again, except those that `snapshot` hides anyway. */
export async function tombstones(
  snapshot: Snapshot,
  segments: readonly OpenSegment[],
): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  for (const segment of segments) {
    await snapshot.forEachEntry(
      segment,
      (row) => row === tombstone,
      (entry) => found.push(entryFingerprint(entry)),
    );
  }
  return found;
}

/**
 * The manifest with `old` segments replaced by `stored`, at the place and sequence of the newest of them; null
 * where some of `old` are gone, because another process rewrote them.
 */
export function replaceSegments(
  latest: Manifest,
  old: readonly SegmentRef[],
  stored: readonly StoredSegment[],
): Pick<Manifest, "segments" | "garbage"> | null {
  const names = new Set(old.map(({ name }) => name));
  const place = latest.segments.findLastIndex(({ name }) => names.has(name));
  if (latest.segments.filter(({ name }) => names.has(name)).length < names.size) return null;
  const sequence = Math.max(0, ...old.map((segment) => segment.sequence));
  const renewed = stored.map((segment) => ({ ...segment, sequence }));
  const kept = (segment: SegmentRef) => !names.has(segment.name);
  return {
    segments: [
      ...latest.segments.slice(0, place + 1).filter(kept),
      ...renewed,
      ...latest.segments.slice(place + 1),
    ],
    garbage: [...latest.garbage, ...names],
  };
}

/** Commits a rewrite. Where the change declines, what was stored for it is deleted and null returned. */
export async function commitRewrite(
  index: OpenIndex,
  stored: readonly { readonly name: string }[],
  change: Change,
): Promise<Manifest | null> {
  const committed = await index.log.commit((latest) =>
    areCommittable(latest, stored) ? change(latest) : null,
  );
  if (committed === null) await index.store.delete(stored.map(({ name }) => name));
  return committed;
}
