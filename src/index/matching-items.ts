/** The items that match a filter, in one snapshot after the other: each segment is read once. */

import type { CompiledFilter } from "../api/filter/compile.js";
import { forEachYielding } from "../async/event-loop.js";
import { pinMatching, unpinMatching } from "../query/row-filter.js";
import { pinIdTables } from "../query/snapshot/id-tables.js";
import type { OpenSegment, Snapshot } from "../query/snapshot/snapshot.js";
import { entryWords } from "../state/segment/id-table.js";
import { hasRow } from "../state/segment/row-bits.js";
import type { SegmentReader } from "../state/segment/segment-reader.js";

/** Fingerprints of items, by the ids of their namespaces; undefined: in none. */
export type Deletions = ReadonlyMap<string | undefined, readonly Uint8Array[]>;

export class MatchingItems {
  readonly #filter: CompiledFilter;
  readonly #signal: AbortSignal | undefined;
  /** Fingerprints of the rows that match, shadowed ones too, layout (n, 4) words. */
  #candidates = new Map<SegmentReader, Uint32Array>();

  constructor(filter: CompiledFilter, signal: AbortSignal | undefined) {
    this.#filter = filter;
    this.#signal = signal;
  }

  /** The live items of a snapshot that match. */
  async in(snapshot: Snapshot): Promise<Deletions> {
    const candidates = new Map<SegmentReader, Uint32Array>();
    const all = new Map<string | undefined, Uint8Array[]>();
    for (const segment of snapshot.segments) {
      this.#signal?.throwIfAborted();
      const words = this.#candidates.get(segment.reader) ?? (await this.#read(segment));
      candidates.set(segment.reader, words);
      if (words.length === 0) continue;
      const { namespace } = segment.ref;
      const found = all.get(namespace) ?? [];
      all.set(namespace, found);
      const shadow = await snapshot.pinShadow(segment);
      try {
        await forEachYielding(words.length / 4, (i) => {
          const at = 4 * i;
          if (shadow.has(words[at], words[at + 1], words[at + 2], words[at + 3])) return;
          found.push(new Uint8Array(words.buffer, 16 * i, 16));
        });
      } finally {
        shadow.release();
      }
    }
    this.#candidates = candidates;
    return all;
  }

  async #read({ reader }: OpenSegment): Promise<Uint32Array> {
    const { bits, count } = await pinMatching(reader, this.#filter, this.#signal);
    // The bits lie in the heap: they stay valid.
    unpinMatching(reader, this.#filter);
    const words = new Uint32Array(4 * count);
    if (count === 0) return words;
    const { tables, release } = await pinIdTables([reader]);
    try {
      const [table] = tables;
      const entries = table.view();
      let n = 0;
      await forEachYielding(table.count, (i) => {
        const at = entryWords * i;
        // A tombstone's row is beyond all bits.
        if (hasRow(bits, entries[at + 4])) words.set(entries.subarray(at, at + 4), 4 * n++);
      });
    } finally {
      release();
    }
    return words;
  }
}
