/**
 * Which items have entries in the newer segments of a snapshot, and in which of them the newest: one hash table over their id
 * tables, so that looking an item up costs the same whatever the number of segments.
 */

import type { SegmentRef } from "../../state/commit/manifest.js";
import type { CachedValue } from "../../state/cache/cache-group.js";
import type { OpenIdTable } from "../../state/segment/opened-blocks.js";
import type { SegmentReader } from "../../state/segment/segment-reader.js";
import { entryWords, tombstone } from "../../state/segment/id-table.js";
import { forEachYielding } from "../../async/event-loop.js";
import { pinIdTables } from "./id-tables.js";

/** A slot: the fingerprint's four words, then its newest entry; 0: the slot is empty. */
const slotWords = entryWords;
/** Slots per entry. Fingerprints are uniform, so that probes are short. */
const slotsPerEntry = 2;

interface NewerSegment {
  readonly ref: SegmentRef;
  readonly reader: SegmentReader;
}

export class ShadowTable implements CachedValue {
  readonly bytes: number;
  /** Distinct items. */
  count = 0;
  readonly #slots: Uint32Array;
  readonly #mask: number;
  /** Ascending. The newest entry of an item is in the segments of one of these. */
  readonly #sequences: readonly number[];

  private constructor(entries: number, sequences: readonly number[]) {
    const capacity = 2 ** Math.ceil(Math.log2(slotsPerEntry * entries + 1));
    this.#slots = new Uint32Array(slotWords * capacity);
    this.#mask = capacity - 1;
    this.#sequences = sequences;
    this.bytes = this.#slots.byteLength;
  }

  /** The table of these segments, which ascend by sequence. */
  static async build(segments: readonly NewerSegment[]): Promise<ShadowTable> {
    const entries = segments.reduce((sum, { ref }) => sum + ref.rows + ref.deleted, 0);
    const table = new ShadowTable(entries, [...new Set(segments.map(({ ref }) => ref.sequence))]);
    const { tables, release } = await pinIdTables(segments.map(({ reader }) => reader));
    try {
      // The newest first: the first entry of an item counts.
      for (let i = segments.length - 1; i >= 0; i--) await table.#add(segments[i].ref.sequence, tables[i]);
    } finally {
      release();
    }
    return table;
  }

  async #add(sequence: number, idTable: OpenIdTable): Promise<void> {
    const rank = this.#sequences.indexOf(sequence) + 1;
    const entries = idTable.view();
    await forEachYielding(idTable.count, (i) => {
      const at = entryWords * i;
      const slot = this.#find(entries[at], entries[at + 1], entries[at + 2], entries[at + 3]);
      if (this.#slots[slot + 4] !== 0) return;
      for (let word = 0; word < 4; word++) this.#slots[slot + word] = entries[at + word];
      this.#slots[slot + 4] = 2 * rank + (entries[at + 4] === tombstone ? 0 : 1);
      this.count++;
    });
  }

  /** Whether a segment newer than `sequence` has an entry for the item with this fingerprint (four words). */
  isNewer(sequence: number, w0: number, w1: number, w2: number, w3: number): boolean {
    const state = this.#slots[this.#find(w0, w1, w2, w3) + 4];
    return state !== 0 && this.#sequences[(state >>> 1) - 1] > sequence;
  }

  /** Calls `visit` for each item with its fingerprint's words, valid until it returns, and whether its newest entry is a row. */
  async forEach(visit: (words: Uint32Array, isRow: boolean) => void): Promise<void> {
    await forEachYielding(this.#slots.length / slotWords, (i) => {
      const at = slotWords * i;
      const state = this.#slots[at + 4];
      if (state !== 0) visit(this.#slots.subarray(at, at + 4), (state & 1) === 1);
    });
  }

  /** Where the slot of a fingerprint begins, or the empty one that it would take. */
  #find(w0: number, w1: number, w2: number, w3: number): number {
    const slots = this.#slots;
    for (let slot = w0 & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const at = slotWords * slot;
      if (slots[at + 4] === 0) return at;
      if (slots[at] === w0 && slots[at + 1] === w1 && slots[at + 2] === w2 && slots[at + 3] === w3) return at;
    }
  }
}
