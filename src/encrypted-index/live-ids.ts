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

/** Call `close` when done. */
export class LiveIds {
  readonly #sources: readonly Source[];
  readonly #after: string | undefined;
  #left: readonly Source[];

  private constructor(sources: readonly Source[], after: string | undefined) {
    this.#sources = sources;
    this.#after = after;
    this.#left = sources;
  }

  /** Stands before the first id greater than `after`. */
  static async open(snapshot: Snapshot, after: string | undefined): Promise<LiveIds> {
    const sources: Source[] = [];
    const newest = snapshot.segments.at(-1)?.ref.sequence;
    const open = async (segment: OpenSegment) => {
      const shadow = await snapshot.pinShadow(segment);
      const mayBeShadowed = segment.ref.sequence !== newest;
      sources.push({ segment, cursor: new IdCursor(segment.reader, after), shadow, mayBeShadowed });
    };
    try {
      for (const segment of snapshot.segments) if (segment.ref.rows > 0) await open(segment);
      return new LiveIds(sources, after);
    } catch (error) {
      for (const { shadow } of sources) shadow.release();
      throw error;
    }
  }

  close(): void {
    for (const { shadow } of this.#sources) shadow.release();
  }

  /**
   * The next of them: some, of which `count` is an estimate; none if there are no more. Reads as much of each segment as that
   * takes, and the id tables of newer segments once.
   */
  async next(count: number): Promise<LiveId[]> {
    // Each segment's share, and some more, so that usually one read is enough.
    const wanted = Math.min(mergedTogether, 2 * count);
    while (this.#left.length > 0) {
      const share = Math.max(1, Math.floor(wanted / this.#left.length));
      await fill(this.#left, share, this.#after);
      this.#left = this.#left.filter(({ cursor }) => cursor.ready > 0);
      const live = await take(this.#left, share);
      if (live.length > 0) return live.sort((a, b) => (a.id < b.id ? -1 : 1));
    }
    return [];
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
