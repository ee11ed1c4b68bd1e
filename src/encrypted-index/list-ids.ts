/** Lists the ids of live items, in the order of string comparison: a merge of the sorted ids of all segments. */

import { IdCursor } from "../search/id-cursor.js";
import type { OpenSegment, Shadow, Snapshot } from "../search/snapshot.js";
import { fingerprintIn, idIn } from "../segment/sorted-ids.js";
import { forEachYielding } from "../threads/yield-to-event-loop.js";
import type { ListIdsOptions } from "../vector-index.js";
import type { OpenIndex } from "./open-index.js";

/** Ids that are merged in one piece of work. */
const mergedTogether = 4096;

/** What an id takes in memory besides its characters. */
const idBytes = 64;

/** At most `limit` ids after `after`. Reads as much of each segment as that takes, and the id tables of newer segments once. */
export async function listIds(
  index: OpenIndex,
  { limit = Infinity, after, signal, reserveBytes }: ListIdsOptions,
): Promise<string[]> {
  return index.snapshots.read(async (snapshot) => {
    const ids: string[] = [];
    if (limit === 0) return ids;
    const sources = await openSources(snapshot, after);
    try {
      // Each segment's share, and some more, so that usually one read is enough.
      const wanted = Math.min(mergedTogether, 2 * limit);
      for (let left = sources; left.length > 0 && ids.length < limit;) {
        signal?.throwIfAborted();
        const share = Math.max(1, Math.floor(wanted / left.length));
        await fill(left, share, after);
        left = left.filter(({ cursor }) => cursor.ready > 0);
        const next = (await nextIds(left, share)).sort().slice(0, limit - ids.length);
        await reserveBytes?.(next.reduce((sum, id) => sum + idBytes + id.length, 0));
        ids.push(...next);
      }
      return ids;
    } finally {
      for (const { shadow } of sources) shadow.release();
    }
  });
}

interface Source {
  readonly cursor: IdCursor;
  readonly shadow: Shadow;
  readonly mayBeShadowed: boolean;
}

async function openSources(snapshot: Snapshot, after: string | undefined): Promise<Source[]> {
  const sources: Source[] = [];
  const newest = snapshot.segments.at(-1)?.ref.sequence;
  const open = async (segment: OpenSegment) => {
    const shadow = await snapshot.pinShadow(segment);
    const mayBeShadowed = segment.ref.sequence !== newest;
    sources.push({ cursor: new IdCursor(segment.reader, after), shadow, mayBeShadowed });
  };
  try {
    for (const segment of snapshot.segments) if (segment.ref.rows > 0) await open(segment);
    return sources;
  } catch (error) {
    for (const { shadow } of sources) shadow.release();
    throw error;
  }
}

/** All at once: one wait for storage. */
async function fill(sources: readonly Source[], share: number, after: string | undefined): Promise<void> {
  const short = sources.filter(({ cursor }) => cursor.ready < share && !cursor.isComplete);
  await Promise.all(short.map(({ cursor }) => cursor.fill(share, after)));
}

/** The live ids up to the first that could be followed by an id that is not ready: at most `share` of each source. */
async function nextIds(sources: readonly Source[], share: number): Promise<string[]> {
  const lasts = sources.map(({ cursor }) => cursor.at(Math.min(share, cursor.ready) - 1));
  const last = lasts.reduce((least, id) => (id < least ? id : least), lasts[0] ?? "");
  const live: string[] = [];
  for (const { cursor, shadow, mayBeShadowed } of sources) {
    const parts = cursor.take(last, share);
    await forEachYielding(parts.length, (i) => {
      const [w0, w1, w2, w3] = fingerprintIn(parts[i]);
      if (!mayBeShadowed || !shadow.has(w0, w1, w2, w3)) live.push(idIn(parts[i]));
    });
  }
  return live;
}
