/** An index as of one manifest: its open segments, and which of their rows newer segments shadow. */

import { listCount, type Model } from "../engine/model.js";
import type { CodeBlock } from "../segment/directory.js";
import { entryFingerprint, entryWords, findEntry, tombstone } from "../segment/id-table.js";
import type { CacheGroup } from "../segment/cache-group.js";
import type { IndexCache } from "../segment/index-cache.js";
import type { OpenIdTable } from "../segment/opened-blocks.js";
import type { SegmentReader } from "../segment/segment-reader.js";
import { yieldIfDue, forEachYielding } from "../threads/yield-to-event-loop.js";
import type { Manifest, SegmentRef } from "../commit/manifest.js";
import { pinIdTables } from "./pinned-id-tables.js";

export interface OpenSegment {
  readonly ref: SegmentRef;
  readonly reader: SegmentReader;
}

/** A live row: its segment and its position there. */
export interface RowPlace {
  readonly segment: OpenSegment;
  readonly row: number;
}

/** A code block of a snapshot. */
export interface ListBlock {
  /** Its position in `Snapshot.listBlocks`. */
  readonly number: number;
  readonly segment: OpenSegment;
  readonly block: CodeBlock;
  /** How many of the segments are newer than its own. */
  readonly newerSegments: number;
}

interface ListBlocks {
  readonly all: readonly ListBlock[];
  /** Per list the number of its first block, then that of the first ungrouped one, then how many there are. */
  readonly firsts: readonly number[];
  /** How many of the segments can shadow rows of one of them. */
  readonly newerSegmentsMax: number;
  /** Rows of the largest. */
  readonly rowsMax: number;
}

/** What a list block takes in memory, in bytes. */
const listBlockBytes = 96;

/** Things of several segments, by segment, in their order. */
export function bySegment<T extends { readonly segment: OpenSegment }>(
  things: readonly T[],
): Map<OpenSegment, T[]> {
  const groups = new Map<OpenSegment, T[]>();
  for (const thing of things) {
    const group = groups.get(thing.segment);
    if (group === undefined) groups.set(thing.segment, [thing]);
    else group.push(thing);
  }
  return groups;
}

/** Recognizes rows that newer segments shadow. Call `release` when done. */
export interface Shadow {
  /** Whether a newer segment has an entry for the item with this fingerprint (four words). */
  has(w0: number, w1: number, w2: number, w3: number): boolean;
  release(): void;
}

/** Fingerprints looked up between two turns of the event loop. */
const soughtTogether = 1000;
/** Records that a pass over everything holds at a time. */
const recordsHeldMax = 10_000;

export class Snapshot {
  readonly manifest: Manifest;
  /** Ascending by sequence. */
  readonly segments: readonly OpenSegment[];
  /** Undefined: untrained. */
  readonly model: Model | undefined;
  /** What is worked out for the snapshot. */
  readonly cache: CacheGroup;
  #listBlocks: ListBlocks | undefined;
  #count: Promise<number> | undefined;

  constructor(
    manifest: Manifest,
    segments: readonly OpenSegment[],
    model: Model | undefined,
    cache: IndexCache,
  ) {
    this.manifest = manifest;
    this.segments = segments;
    this.model = model;
    this.cache = cache.groupOf(this);
  }

  /** All code blocks: by list, then those of the segments that are not grouped by the current model, if there is one. */
  get listBlocks(): ListBlocks {
    if (this.#listBlocks === undefined) {
      this.#listBlocks = listBlocksOfSnapshot(this);
      this.cache.hold(listBlockBytes * this.#listBlocks.all.length);
    }
    return this.#listBlocks;
  }

  /** The code blocks of a list, of all segments that are grouped by the current model. */
  listBlocksOf(list: number): readonly ListBlock[] {
    const { all, firsts } = this.listBlocks;
    return all.slice(firsts[list], firsts[list + 1]);
  }

  /** The code blocks of the other segments. */
  get ungroupedListBlocks(): readonly ListBlock[] {
    const { all, firsts } = this.listBlocks;
    return all.slice(firsts[firsts.length - 2]);
  }

  /** The `count` newest segments, newest first. */
  newestReaders(count: number): SegmentReader[] {
    return Array.from({ length: count }, (_, i) => this.segments[this.segments.length - 1 - i].reader);
  }

  /** What recognizes rows of `segment` that newer segments shadow; opens the id tables of those. */
  async pinShadow(segment: OpenSegment): Promise<Shadow> {
    const { tables, release } = await pinIdTables(this.#newerThan(segment));
    return { has: inAny(tables), release };
  }

  /** Calls `visit` with the entries (see id-table.ts) of a segment that no newer one shadows, if their rows are wanted. */
  async forEachEntry(
    segment: OpenSegment,
    isWanted: (row: number) => boolean,
    visit: (entry: Uint32Array) => void,
  ): Promise<void> {
    const { tables, release } = await pinIdTables([segment.reader, ...this.#newerThan(segment)]);
    try {
      const [own, ...newer] = tables;
      const isShadowed = inAny(newer);
      const entries = own.view();
      await forEachYielding(own.count, (i) => {
        const at = entryWords * i;
        if (!isWanted(entries[at + 4])) return;
        if (isShadowed(entries[at], entries[at + 1], entries[at + 2], entries[at + 3])) return;
        visit(entries.subarray(at, at + entryWords));
      });
    } finally {
      release();
    }
  }

  #newerThan({ ref }: OpenSegment): SegmentReader[] {
    return this.segments.filter((other) => other.ref.sequence > ref.sequence).map(({ reader }) => reader);
  }

  /** Where the items with these fingerprints are, newest version; null for unknown or deleted ones. */
  async find(fingerprints: readonly Uint8Array[]): Promise<(RowPlace | null)[]> {
    const places: (RowPlace | null)[] = [];
    for await (const { sought, rows } of findIn(this.segments, fingerprints)) {
      for (let i = 0; i < sought; i++) {
        const newest = rows.findLastIndex((found) => found[i] !== -1);
        const isLive = newest !== -1 && rows[newest][i] !== tombstone;
        places.push(isLive ? { segment: this.segments[newest], row: rows[newest][i] } : null);
      }
    }
    return places;
  }

  /** How many items there are. Reads the id tables; the result is kept. */
  count(): Promise<number> {
    this.#count ??= this.#countRows().catch((error: unknown) => {
      this.#count = undefined;
      throw error;
    });
    return this.#count;
  }

  async #countRows(): Promise<number> {
    const oldest = this.segments[0]?.ref.sequence;
    const counts = this.segments.map(async (segment) => {
      let live = segment.ref.rows;
      if (segment.ref.sequence === oldest) return live;
      // A shadowed row is counted once: by the newest segment that has an entry for its item.
      const last: Uint8Array[] = [];
      await this.forEachEntry(
        segment,
        () => true,
        (entry) => last.push(entryFingerprint(entry)),
      );
      const older = this.segments.filter(({ ref }) => ref.sequence < segment.ref.sequence);
      for await (const { rows } of findIn(older, last)) {
        for (const row of rows.flat()) if (row !== -1 && row !== tombstone) live--;
      }
      return live;
    });
    return (await Promise.all(counts)).reduce((sum, live) => sum + live, 0);
  }

  /** The records (see segment/row.ts) of all rows that no newer segment shadows, a batch at a time. */
  async *liveRecords(): AsyncGenerator<Uint8Array[]> {
    for (const segment of this.segments) {
      const found: number[] = [];
      await this.forEachEntry(
        segment,
        (row) => row !== tombstone,
        (entry) => found.push(entry[4]),
      );
      const rows = [...Uint32Array.from(found).sort()];
      const read = segment.reader.forward("records");
      for (let start = 0; start < rows.length; start += recordsHeldMax) {
        yield (await read(rows.slice(start, start + recordsHeldMax))) as Uint8Array[];
      }
    }
  }
}

/** What each of the segments has for the items with these fingerprints, see `SegmentReader.find`, some items at a time. */
async function* findIn(
  segments: readonly OpenSegment[],
  fingerprints: readonly Uint8Array[],
): AsyncGenerator<{ readonly sought: number; readonly rows: readonly number[][] }> {
  for (let start = 0; start < fingerprints.length; start += soughtTogether) {
    if (start > 0) await yieldIfDue();
    const sought = fingerprints.slice(start, start + soughtTogether);
    // All segments at once: one wait for storage, whichever of them have the items.
    const rows = await Promise.all(segments.map(({ reader }) => reader.find(sought)));
    yield { sought: sought.length, rows };
  }
}

/** Whether one of the tables, while they are pinned, has an entry for a fingerprint. */
function inAny(tables: readonly OpenIdTable[]): Shadow["has"] {
  const views = tables.map((table) => table.view());
  return (w0, w1, w2, w3) => views.some((entries) => findEntry(entries, w0, w1, w2, w3) !== -1);
}

function listBlocksOfSnapshot({ segments, manifest, model }: Snapshot): ListBlocks {
  const nLists = model === undefined ? 0 : listCount(model);
  const groups: Omit<ListBlock, "number">[][] = Array.from({ length: nLists + 1 }, () => []);
  for (const segment of segments) {
    const newerSegments = segments.filter(({ ref }) => ref.sequence > segment.ref.sequence).length;
    const grouped = model !== undefined && segment.ref.model === manifest.model?.name;
    for (const block of segment.reader.directory.codes) {
      groups[grouped ? block.list : nLists].push({ segment, block, newerSegments });
    }
  }
  const firsts = [0];
  for (const group of groups) firsts.push(firsts[firsts.length - 1] + group.length);
  const all = groups.flat().map((listBlock, number) => ({ number, ...listBlock }));
  const newerSegmentsMax = all.reduce((most, { newerSegments }) => Math.max(most, newerSegments), 0);
  const rowsMax = all.reduce((most, { block }) => Math.max(most, block.rows), 0);
  return { all, firsts, newerSegmentsMax, rowsMax };
}
