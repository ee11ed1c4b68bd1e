/**
 * Rewriting: live rows of some segments become new segments, which take their place in one commit. What
 * training and compaction share.
 */

import type { Model } from "../engine/model.js";
import type { Row } from "../segment/row.js";
import type { Batch } from "../segment/segment-writer.js";
import { breathe } from "./breathe.js";
import { tombstone } from "../segment/id-table.js";
import { forEachEntry, type SegmentReader } from "../segment/segment-reader.js";
import type { Garbage, Manifest, ObjectRef, SegmentRef } from "./manifest.js";
import type { Change } from "./manifest-log.js";
import type { OpenIndex, StoredSegment } from "./open-index.js";
import type { OpenSegment, Snapshot } from "./snapshot.js";

/** Live rows of some segments with their vectors, block by block, oldest first. */
export async function* liveBlocks(
  snapshot: Snapshot,
  segments: readonly OpenSegment[],
): AsyncGenerator<{
  segment: OpenSegment;
  rows: number[];
  fingerprints: Uint8Array[];
  vectors: Float32Array;
}> {
  for (const segment of segments) {
    const { reader } = segment;
    const { dimension } = reader.directory;
    const hidden = await snapshot.hiddenIn(segment);
    for (const block of reader.directory.codes) {
      const { fingerprints, vectors } = await reader.readCodes(block);
      const kept: number[] = [];
      for (let row = 0; row < block.rows; row++) {
        const [w0, w1, w2, w3] = fingerprints.subarray(4 * row, 4 * row + 4);
        if (!hidden(w0, w1, w2, w3)) kept.push(row);
      }
      if (kept.length === 0) continue;
      const live = new Float32Array(kept.length * dimension);
      kept.forEach((row, at) =>
        live.set(vectors.subarray(row * dimension, (row + 1) * dimension), at * dimension),
      );
      yield {
        segment,
        rows: kept.map((row) => block.firstRow + row),
        fingerprints: kept.map((row) => new Uint8Array(fingerprints.buffer, 16 * row, 16)),
        vectors: live,
      };
      await breathe();
    }
  }
}

/** Of small vectors, so that sorting the id table of a segment does not hold the event loop. */
const segmentRowsMax = 2 ** 18;

/** Who follows a rewrite. */
export interface Watched {
  readonly signal?: AbortSignal;
  /** Called with the number of rows that are stored. */
  readonly onRows?: (done: number) => void;
}

/**
 * Stores the live rows of `segments` anew, grouped by `model`'s lists; `deleted` are kept as tombstones. A new segment
 * has about `segmentBytes` of vectors and texts, which are in memory up to four times: sealed and joined while the next ones
 * are read and collected. Where it fails, what was stored is deleted again.
 */
export async function rewrite(
  index: OpenIndex,
  snapshot: Snapshot,
  segments: readonly OpenSegment[],
  dimension: number,
  model: { readonly model?: Model; readonly name?: string },
  deleted: readonly Uint8Array[],
  segmentBytes: number,
  { signal, onRows }: Watched = {},
): Promise<StoredSegment[]> {
  const stored: StoredSegment[] = [];
  let done = 0;
  let storing: Promise<void> = Promise.resolve();
  const store = async (batch: Batch) => {
    const segment = await index.withEncoding(dimension, model.model, (encoding) =>
      index.storeSegment(batch, encoding, model.name),
    );
    stored.push(segment);
    onRows?.((done += segment.rows));
  };
  try {
    for await (const batch of batches(snapshot, segments, dimension, deleted, segmentBytes)) {
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
    await index.store.delete(stored.map(({ name }) => name));
    throw error;
  }
}

/** The live rows of `segments` as batches of about `segmentBytes`; the first one holds the tombstones. */
async function* batches(
  snapshot: Snapshot,
  segments: readonly OpenSegment[],
  dimension: number,
  deleted: readonly Uint8Array[],
  segmentBytes: number,
): AsyncGenerator<Batch> {
  let rows: Row[] = [];
  let parts: Float32Array[] = [];
  let bytes = 0;
  let buried = deleted;
  const flush = async (): Promise<Batch> => {
    const batch = { dimension, rows, vectors: await join(parts), deleted: buried };
    [rows, parts, bytes, buried] = [[], [], 0, []];
    return batch;
  };
  let segment: OpenSegment | undefined;
  let readers: ReturnType<SegmentReader["forward"]>[] = [];
  for await (const block of liveBlocks(snapshot, segments)) {
    if (block.segment !== segment) {
      segment = block.segment;
      readers = [segment.reader.forward("records"), segment.reader.forward("contents")];
    }
    const [records, contents] = await Promise.all(readers.map((read) => read(block.rows)));
    block.fingerprints.forEach((fingerprint, i) => {
      const record = records[i] as Uint8Array;
      rows.push({ fingerprint, record, contents: contents[i] });
      bytes += record.length + (contents[i]?.length ?? 0);
    });
    parts.push(block.vectors);
    bytes += block.vectors.byteLength;
    if (bytes >= segmentBytes || rows.length >= segmentRowsMax) yield await flush();
  }
  if (rows.length > 0 || buried.length > 0) yield await flush();
}

async function join(parts: readonly Float32Array[]): Promise<Float32Array> {
  const joined = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
    await breathe();
  }
  return joined;
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
