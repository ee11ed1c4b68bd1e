/**
 * Rewriting: live rows of some segments become new segments, which take their place in one commit. What
 * training and compaction share.
 */

import type { Model } from "../engine/model.js";
import type { Row } from "../segment/row.js";
import { liveBlocks } from "./live-blocks.js";
import { joinMoved, move, type Moved } from "./move-rows.js";
import { tombstone } from "../segment/id-table.js";
import { forEachEntry, type SegmentReader } from "../segment/segment-reader.js";
import type { Garbage, Manifest, ObjectRef, SegmentRef } from "./manifest.js";
import type { Change } from "./manifest-log.js";
import type { OpenIndex, StoredSegment } from "./open-index.js";
import type { OpenSegment, Snapshot } from "./snapshot.js";

/**
 * Stores the live rows of `segments` anew, grouped by `model`'s lists; `deleted` are kept as tombstones. A new segment
 * has about `segmentBytes` of vectors and texts, which are in memory up to three times: read, sealed, and joined.
 */
export async function rewrite(
  index: OpenIndex,
  snapshot: Snapshot,
  segments: readonly OpenSegment[],
  dimension: number,
  { model, name }: { readonly model?: Model; readonly name?: string },
  deleted: readonly Uint8Array[],
  segmentBytes: number,
): Promise<StoredSegment[]> {
  const stored: StoredSegment[] = [];
  let rows: Row[] = [];
  let parts: Moved[] = [];
  let bytes = 0;
  let buried = deleted;
  const flush = () =>
    index.withEncoding(dimension, model, async (encoding) => {
      const batch = { dimension, rows, vectors: await joinMoved(parts), deleted: buried };
      stored.push(await index.storeSegment(batch, encoding, name));
      [rows, parts, bytes, buried] = [[], [], 0, []];
    });
  let segment: OpenSegment | undefined;
  let readers: ReturnType<SegmentReader["forward"]>[] = [];
  for await (const block of liveBlocks(snapshot, segments)) {
    if (block.segment !== segment) {
      segment = block.segment;
      readers = [segment.reader.forward("records"), segment.reader.forward("contents")];
    }
    const places = block.kept.map((row) => block.block.firstRow + row);
    const [records, contents] = await Promise.all(readers.map((read) => read(places)));
    block.fingerprints.forEach((fingerprint, i) => {
      const record = records[i] as Uint8Array;
      rows.push({ fingerprint, record, contents: contents[i] });
      bytes += record.length + (contents[i]?.length ?? 0);
    });
    const moved = await index.withEncoding(dimension, model, (encoding) =>
      move(block, encoding, name, index.config),
    );
    parts.push(moved);
    bytes += (moved instanceof Float32Array ? moved : moved.codes).byteLength;
    if (bytes >= segmentBytes) await flush();
  }
  if (rows.length > 0 || buried.length > 0) await flush();
  return stored;
}

/** Fingerprints that `segments` delete and do not hold again, except those that `snapshot` hides anyway. */
export async function tombstones(
  snapshot: Snapshot,
  segments: readonly OpenSegment[],
): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  for (const segment of segments) {
    const hidden = await snapshot.hiddenIn(segment);
    forEachEntry(await segment.reader.entries(), (w0, w1, w2, w3, row) => {
      if (row !== tombstone || hidden(w0, w1, w2, w3)) return;
      found.push(new Uint8Array(Uint32Array.of(w0, w1, w2, w3).buffer));
    });
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
    garbage: [...latest.garbage, ...drop(old)],
  };
}

/** Garbage records for objects that are dropped now. */
export function drop(objects: readonly ObjectRef[]): Garbage[] {
  const since = Date.now();
  return objects.map(({ name }) => ({ name, since }));
}

/** How long a reader may go on with objects that no manifest names any more. */
const graceMs = 15 * 60 * 1000;

/**
 * Commits a rewrite, after deleting what earlier rewrites dropped more than the grace period ago. Where the change
 * declines, what was stored for it is deleted and null returned.
 */
export async function commitRewrite(
  index: OpenIndex,
  stored: readonly { readonly name: string }[],
  change: Change,
): Promise<Manifest | null> {
  const { garbage } = await index.log.newest();
  const expired = new Set(
    garbage.filter(({ since }) => Date.now() - since > graceMs).map(({ name }) => name),
  );
  // Deleted before the manifest forgets them: a crash in between repeats the deletion instead of losing it.
  await index.store.delete([...expired]);
  const committed = await index.log.commit((latest) => {
    const draft = change(latest);
    return draft && { ...draft, garbage: draft.garbage.filter(({ name }) => !expired.has(name)) };
  });
  if (committed === null) await index.store.delete(stored.map(({ name }) => name));
  return committed;
}
