/** An index at one manifest: its open segments, and which of their rows newer segments shadow. */

import { forEachYielding } from "../../async/event-loop.js";
import { listCount, type Model } from "../../engine/model.js";
import { type CacheGroup, namedKey } from "../../state/cache/cache-group.js";
import type { IndexCache } from "../../state/cache/index-cache.js";
import { byNamespace, type Manifest, rowsAtMost, type SegmentRef } from "../../state/commit/manifest.js";
import type { CodeBlock } from "../../state/segment/code-table.js";
import { entryWords, tombstone } from "../../state/segment/id-table.js";
import type { SegmentReader } from "../../state/segment/segment-reader.js";
import { findIn, fingerprintsIn, newestRows } from "./find-rows.js";
import { pinIdTables } from "./id-tables.js";
import { ShadowTable } from "./shadow-table.js";

export interface OpenSegment {
  readonly ref: SegmentRef;
  readonly reader: SegmentReader;
  /** The name of the namespace of its items, if they are in one. */
  readonly namespace?: string;
}

/** A live row: its segment and its position there. */
export interface RowRef {
  readonly segment: OpenSegment;
  readonly row: number;
}

/** A live row of an item that was searched. */
export interface FoundId extends RowRef {
  /** Of its id among those that were searched. */
  readonly position: number;
  /** In the namespace of its segment. */
  readonly fingerprint: Uint8Array;
}

/** A code block of a snapshot. */
export interface ListBlock {
  /** Its position in `Snapshot.listBlocks`. */
  readonly number: number;
  readonly segment: OpenSegment;
  readonly block: CodeBlock;
  /** See `Snapshot.newerSegments`. */
  readonly newerSegments: number;
}

interface ListBlocks {
  readonly all: readonly ListBlock[];
  /** Per list the number of its first block, then that of the first ungrouped one, then how many there are. */
  readonly firsts: readonly number[];
  /** The greatest `newerSegments` of one of them. */
  readonly newerSegmentsMax: number;
  /** Rows of the largest. */
  readonly rowsMax: number;
}

/** The expired items of a snapshot. */
export interface Expired {
  /** Fingerprints of items that would be live, by the segment that has them. */
  readonly items: ReadonlyMap<OpenSegment, readonly Uint8Array[]>;
  /** When the next row expires, in milliseconds since 1970; Infinity: none is left. */
  readonly next: number;
  /** When this was so; 0 if nothing ever expires. Snapshots of one manifest differ in it. */
  readonly asOf: number;
}

const nothingExpires: Expired = { items: new Map(), next: Infinity, asOf: 0 };

/** Bytes of memory of a list block. */
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

/** The order of segments by age. */
type SegmentAge = Pick<SegmentRef, "sequence" | "namespace">;

export class Snapshot {
  readonly manifest: Manifest;
  /** Ascending by sequence. The last one may hide expired items, see expired-items.ts. */
  readonly segments: readonly OpenSegment[];
  /** Those that the manifest names. */
  readonly stored: readonly OpenSegment[];
  /** The expired items, and the time when the next row expires. */
  readonly expired: Expired;
  /** Undefined: untrained. */
  readonly model: Model | undefined;
  readonly #models: readonly Model[];
  /** How many rows there are per row that there was when the index was trained; rows that newer ones shadow are counted in. */
  readonly growth: number;
  /** Values derived from this snapshot (cached). */
  readonly cache: CacheGroup;
  #uses = 0;
  #listBlocks: ListBlocks | undefined;
  /** Per namespace the lowest sequence of segments whose shadow was asked for. */
  readonly #shadowed = new Map<string | undefined, number>();
  #shadowing: Shadowing<OpenSegment> | undefined;
  #count: Promise<number> | undefined;

  constructor(
    manifest: Manifest,
    segments: readonly OpenSegment[],
    model: Model | undefined,
    cache: IndexCache,
    expired: Expired = nothingExpires,
  ) {
    this.manifest = manifest;
    this.segments = segments;
    this.stored = segments.slice(0, manifest.segments.length);
    this.expired = expired;
    this.model = model;
    this.#models = model === undefined ? [] : [model];
    this.growth = manifest.model === undefined ? 1 : Math.max(1, rowsAtMost(manifest)) / manifest.model.items;
    this.cache = cache.groupOf(this);
  }

  /** How many pieces of work read it now. */
  get uses(): number {
    return this.#uses;
  }

  set uses(count: number) {
    this.#uses = count;
  }

  /** The models whose limits searches use, and adjust by the recall of earlier ones. */
  get models(): readonly Model[] {
    return this.#models;
  }

  /** Whether the vectors of rows are stored and can be returned. */
  get keepsVectors(): boolean {
    return this.model?.quantizer === undefined;
  }

  /** All code blocks that may have live rows: by list, then those of the segments that are not grouped by the current model, if there is one. */
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

  /** The segments of each namespace, ascending by sequence. Those of one have no item in common with those of another. */
  get namespaces(): OpenSegment[][] {
    return byNamespace(this.segments, ({ ref }) => ref);
  }

  /** The segments of items in no namespace. */
  get unnamed(): readonly OpenSegment[] {
    return this.segments.filter(({ ref }) => ref.namespace === undefined);
  }

  /** How many of `newestReaders` it takes to have all that can shadow rows of `segment`. */
  newerSegments(segment: OpenSegment): number {
    this.#shadowing ??= new Shadowing(this.namespaces);
    return this.#shadowing.neededFor(segment);
  }

  /** The `count` newest segments that can shadow rows of another, newest first. */
  newestReaders(count: number): SegmentReader[] {
    this.#shadowing ??= new Shadowing(this.namespaces);
    return this.#shadowing.newest.slice(0, count).map(({ reader }) => reader);
  }

  /** Recognizes rows of `segment` that newer segments shadow; opens the id tables of those. */
  async pinShadow(segment: OpenSegment): Promise<Shadow> {
    const { sequence, namespace } = segment.ref;
    if (this.newerThan(segment).length === 0) return { has: () => false, release: () => undefined };
    // A table that goes further back does for newer segments, too.
    const lowest = Math.min(this.#shadowed.get(namespace) ?? Infinity, sequence);
    this.#shadowed.set(namespace, lowest);
    const { table, release } = await this.#pinTable({ sequence: lowest, namespace });
    return { has: (w0, w1, w2, w3) => table.isNewer(sequence, w0, w1, w2, w3), release };
  }

  /** The table of all segments of the namespace that are newer than `sequence`. Call `release` when done. */
  async #pinTable(age: SegmentAge): Promise<{ readonly table: ShadowTable; release(): void }> {
    const key = namedKey<ShadowTable>(`segments newer than ${age.sequence} ${age.namespace}`);
    const [table] = await this.cache.pin([key], async () => [await ShadowTable.build(this.#newerThan(age))]);
    return { table, release: () => this.cache.unpin([key]) };
  }

  /** Calls `visit` with the entries (see id-table.ts) of a segment that no newer one shadows, if their rows are wanted. */
  async forEachEntry(
    segment: OpenSegment,
    isWanted: (row: number) => boolean,
    visit: (entry: Uint32Array) => void,
  ): Promise<void> {
    const shadow = await this.pinShadow(segment);
    try {
      await forEachEntryOf(segment, (entries, at) => {
        if (!isWanted(entries[at + 4])) return;
        if (shadow.has(entries[at], entries[at + 1], entries[at + 2], entries[at + 3])) return;
        visit(entries.subarray(at, at + entryWords));
      });
    } finally {
      shadow.release();
    }
  }

  /** The newer segments of the same namespace: those that can shadow its rows. */
  newerThan({ ref }: OpenSegment): readonly OpenSegment[] {
    return this.#newerThan(ref);
  }

  #newerThan({ sequence, namespace }: SegmentAge): readonly OpenSegment[] {
    return this.segments.filter(({ ref }) => ref.sequence > sequence && ref.namespace === namespace);
  }

  /** Where the items with these fingerprints are, newest version; null for unknown, deleted or expired ones. */
  find(fingerprints: readonly Uint8Array[]): Promise<(RowRef | null)[]> {
    return newestRows(this.segments, fingerprints);
  }

  /** As `find`, with those that have expired. */
  findStored(fingerprints: readonly Uint8Array[]): Promise<(RowRef | null)[]> {
    return newestRows(this.stored, fingerprints);
  }

  /** Where the items with these ids are, in every namespace: per segment that has some, their positions in `ids` and rows. */
  async findIds(ids: readonly Uint8Array[]): Promise<FoundId[]> {
    const found = await Promise.all(
      this.namespaces.map(async (segments) => {
        const own = fingerprintsIn(segments[0].ref.namespace, ids);
        const rows = await newestRows(segments, own);
        return rows.flatMap((ref, position) =>
          ref === null ? [] : [{ ...ref, position, fingerprint: own[position] }],
        );
      }),
    );
    return found.flat();
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
    let count = 0;
    for (const segments of this.namespaces) count += await this.countIn(segments);
    return count;
  }

  /** How many items there are in all segments of a namespace, or of none. */
  async countIn(segments: readonly OpenSegment[]): Promise<number> {
    const oldest = segments.filter(({ ref }) => ref.sequence === segments[0].ref.sequence);
    const rows = oldest.reduce((sum, { ref }) => sum + ref.rows, 0);
    if (oldest.length === segments.length) return rows;
    const { table, release } = await this.#pinTable(oldest[0].ref);
    try {
      let live = rows;
      const newer: Uint8Array[] = [];
      const isSmall = table.count < rows;
      await table.forEach((words, isRow) => {
        if (isRow) live++;
        if (isSmall) newer.push(new Uint8Array(words.slice().buffer));
      });
      return live - (isSmall ? await countIn(oldest, newer) : await countShadowed(oldest, table));
    } finally {
      release();
    }
  }
}

/** How many of the items are rows of one of the segments. */
async function countIn(
  segments: readonly OpenSegment[],
  fingerprints: readonly Uint8Array[],
): Promise<number> {
  let count = 0;
  for await (const { rows } of findIn(segments, fingerprints)) {
    for (const row of rows.flat()) if (row !== -1 && row !== tombstone) count++;
  }
  return count;
}

/** How many rows of the segments have newer entries. */
async function countShadowed(segments: readonly OpenSegment[], newer: ShadowTable): Promise<number> {
  let count = 0;
  for (const segment of segments) {
    const { sequence } = segment.ref;
    await forEachEntryOf(segment, (entries, at) => {
      if (entries[at + 4] === tombstone) return;
      if (newer.isNewer(sequence, entries[at], entries[at + 1], entries[at + 2], entries[at + 3])) count++;
    });
  }
  return count;
}

/** Calls `visit` for each entry of a segment's id table, with the table and where the entry begins. */
async function forEachEntryOf(
  { reader }: OpenSegment,
  visit: (entries: Uint32Array, at: number) => void,
): Promise<void> {
  const { tables, release } = await pinIdTables([reader]);
  try {
    const [table] = tables;
    const entries = table.view();
    await forEachYielding(table.count, (i) => visit(entries, entryWords * i));
  } finally {
    release();
  }
}

function listBlocksOfSnapshot(snapshot: Snapshot): ListBlocks {
  const { segments, manifest, model } = snapshot;
  const nLists = model === undefined ? 0 : listCount(model);
  const groups: Omit<ListBlock, "number">[][] = Array.from({ length: nLists + 1 }, () => []);
  for (const segment of segments) {
    const newerSegments = snapshot.newerSegments(segment);
    // Without a model, all rows are in list 0.
    const grouped = segment.ref.model === manifest.model?.name;
    for (const block of segment.reader.footer.codes) {
      groups[grouped ? block.list : nLists].push({ segment, block, newerSegments });
    }
  }
  const firsts = [0];
  for (const group of groups) firsts.push(firsts[firsts.length - 1] + group.length);
  // Field by field: every commit makes tens of thousands anew, and spreading takes several times as long.
  const all = groups
    .flat()
    .map(({ segment, block, newerSegments }, number) => ({ number, segment, block, newerSegments }));
  const newerSegmentsMax = all.reduce((most, { newerSegments }) => Math.max(most, newerSegments), 0);
  const rowsMax = all.reduce((most, { block }) => Math.max(most, block.rows), 0);
  return { all, firsts, newerSegmentsMax, rowsMax };
}

// Which segments can shadow rows of others: the newer ones of the same namespace.

interface Shadows {
  readonly ref: Pick<SegmentRef, "sequence" | "namespace">;
}

export class Shadowing<S extends Shadows> {
  /** Those that can shadow rows of another, newest first. */
  readonly newest: readonly S[];
  /** Per namespace its own among them, newest first, and where they are. */
  readonly #positions = new Map<string | undefined, { sequence: number; position: number }[]>();

  /** `namespaces`: the segments of each, ascending by sequence. */
  constructor(namespaces: readonly (readonly S[])[]) {
    this.newest = namespaces
      .flatMap((group) => group.filter(({ ref }) => ref.sequence > group[0].ref.sequence))
      .sort((a, b) => b.ref.sequence - a.ref.sequence);
    for (const [position, { ref }] of this.newest.entries()) {
      const own = this.#positions.get(ref.namespace) ?? [];
      this.#positions.set(ref.namespace, own);
      own.push({ sequence: ref.sequence, position });
    }
  }

  /** How many of `newest` it takes to have all that can shadow rows of a segment. */
  neededFor({ ref }: Shadows): number {
    const own = this.#positions.get(ref.namespace) ?? [];
    const last = own.findLast(({ sequence }) => sequence > ref.sequence);
    return last === undefined ? 0 : last.position + 1;
  }
}
