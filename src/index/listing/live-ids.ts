/** The live items of a snapshot in the order of their ids: a merge of the sorted ids of all segments. */

import { forEachYielding } from "../../async/event-loop.js";
import type { OpenSegment, Shadow, Snapshot } from "../../query/snapshot/snapshot.js";
import type { SortedIdBlock } from "../../state/segment/footer.js";
import type { Page } from "../../state/segment/page.js";
import { firstIndex } from "../../state/segment/row-bits.js";
import type { SegmentReader } from "../../state/segment/segment-reader.js";
import { fingerprintIn, idIn, openSortedIds } from "../../state/segment/sorted-ids.js";

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

// Steps through the ids of a segment in their order, reading pages of them as they are needed.

class IdCursor {
  readonly #reader: SegmentReader;
  readonly #blocks: readonly SortedIdBlock[];
  /** Pages that are read, from the one with the position on. */
  #pages: { readonly page: Page; readonly rows: number }[] = [];
  #nextBlock: number;
  /** Within the first page. */
  #position = 0;

  /** Stands before the first id greater than `after`, once it is filled. */
  constructor(reader: SegmentReader, after: string | undefined) {
    this.#reader = reader;
    this.#blocks = reader.footer.sortedIds;
    this.#nextBlock = Math.max(
      0,
      firstIndex(this.#blocks.length, (i) => isAfter(this.#blocks[i].firstId, after)) - 1,
    );
  }

  /** How many ids can be looked at without reading. */
  get ready(): number {
    return this.#pages.reduce((sum, { rows }) => sum + rows, 0) - this.#position;
  }

  /** Whether all ids that are left are ready. */
  get isComplete(): boolean {
    return this.#nextBlock === this.#blocks.length;
  }

  /** Reads pages until `count` ids are ready, or all that there are; skips those up to `after`. */
  async fill(count: number, after: string | undefined): Promise<void> {
    while (this.ready < count && !this.isComplete) {
      const isFirst = this.#pages.length === 0;
      const start = this.#nextBlock;
      for (let rows = this.ready; rows < count && !this.isComplete;) {
        rows += this.#blocks[this.#nextBlock++].rows;
      }
      const blocks = this.#blocks.slice(start, this.#nextBlock);
      const pages = await this.#reader.load(blocks, openSortedIds);
      this.#pages.push(...pages.map((page, i) => ({ page, rows: blocks[i].rows })));
      if (isFirst) this.#skip(firstIndex(this.ready, (i) => isAfter(this.at(i), after)));
    }
  }

  /** The id `i` positions ahead, of those that are ready. */
  at(i: number): string {
    return idIn(this.#entry(i));
  }

  #entry(i: number): Uint8Array {
    let at = this.#position + i;
    for (const { page, rows } of this.#pages) {
      if (at < rows) return page.entry(at) as Uint8Array;
      at -= rows;
    }
    throw new RangeError(`id cursor: ${i} is beyond what was read`);
  }

  /** Takes the ids up to `last`, at most `count` of those that are ready, as they are stored: see sorted-ids.ts. */
  take(last: string, count: number): Uint8Array[] {
    const isBeyond = (i: number) => this.at(i) > last;
    const taken = Array.from({ length: firstIndex(Math.min(count, this.ready), isBeyond) }, (_, i) =>
      this.#entry(i),
    );
    this.#skip(taken.length);
    return taken;
  }

  #skip(count: number): void {
    this.#position += count;
    while (this.#pages.length > 0 && this.#position >= this.#pages[0].rows) {
      this.#position -= this.#pages[0].rows;
      this.#pages.shift();
    }
  }
}

function isAfter(id: string, after: string | undefined): boolean {
  return after === undefined || id > after;
}
