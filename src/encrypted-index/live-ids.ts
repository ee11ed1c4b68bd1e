/** The live items of a snapshot in the order of their ids: a merge of the sorted ids of all segments. */

import { IdCursor } from "../search/id-cursor.js";
import type { OpenSegment, Shadow, Snapshot } from "../search/snapshot.js";
import { fingerprintIn, idIn } from "../segment/sorted-ids.js";
import { forEachYielding } from "../threads/yield-to-event-loop.js";

/** Ids that are merged in one piece of work. */
const mergedTogether = 4096;

export interface LiveId {
  readonly id: string;
  readonly segment: OpenSegment;
  /** Four words. */
  readonly fingerprint: Uint32Array;
}

interface Source {
  readonly segment: OpenSegment;
  readonly cursor: IdCursor;
  readonly shadow: Shadow;
  readonly mayBeShadowed: boolean;
}

export interface IdRange {
  /** Only ids greater than this one. */
  readonly after?: string | undefined;
  /** How many items are probably taken. */
  readonly wanted: number;
  readonly signal?: AbortSignal | undefined;
}

/** The items in pieces. Reads as much of each segment as they take, and the id tables of newer segments once. */
export async function* liveIds(
  snapshot: Snapshot,
  { after, wanted, signal }: IdRange,
): AsyncGenerator<LiveId[]> {
  // Each segment's share, and some more, so that usually one read is enough.
  const together = Math.min(mergedTogether, 2 * wanted);
  const sources: Source[] = [];
  const newest = snapshot.segments.at(-1)?.ref.sequence;
  try {
    for (const segment of snapshot.segments) {
      if (segment.ref.rows === 0) continue;
      const shadow = await snapshot.pinShadow(segment);
      const mayBeShadowed = segment.ref.sequence !== newest;
      sources.push({ segment, cursor: new IdCursor(segment.reader, after), shadow, mayBeShadowed });
    }
    for (let left = sources; left.length > 0;) {
      signal?.throwIfAborted();
      const share = Math.max(1, Math.floor(together / left.length));
      await fill(left, share, after);
      left = left.filter(({ cursor }) => cursor.ready > 0);
      const live = await take(left, share);
      if (live.length > 0) yield live.sort((a, b) => (a.id < b.id ? -1 : 1));
    }
  } finally {
    for (const { shadow } of sources) shadow.release();
  }
}

/** All at once: one wait for storage. */
async function fill(sources: readonly Source[], share: number, after: string | undefined): Promise<void> {
  const short = sources.filter(({ cursor }) => cursor.ready < share && !cursor.isComplete);
  await Promise.all(short.map(({ cursor }) => cursor.fill(share, after)));
}

/** The live ids up to the first that could be followed by an id that is not ready: at most `share` of each source. */
async function take(sources: readonly Source[], share: number): Promise<LiveId[]> {
  const lasts = sources.map(({ cursor }) => cursor.at(Math.min(share, cursor.ready) - 1));
  const last = lasts.reduce((least, id) => (id < least ? id : least), lasts[0] ?? "");
  const live: LiveId[] = [];
  for (const { segment, cursor, shadow, mayBeShadowed } of sources) {
    const parts = cursor.take(last, share);
    await forEachYielding(parts.length, (i) => {
      const fingerprint = fingerprintIn(parts[i]);
      const [w0, w1, w2, w3] = fingerprint;
      if (!mayBeShadowed || !shadow.has(w0, w1, w2, w3))
        live.push({ id: idIn(parts[i]), segment, fingerprint });
    });
  }
  return live;
}
