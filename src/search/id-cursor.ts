/** Steps through the ids of a segment in their order, reading pages of them as they are needed. */

import type { SortedIdBlock } from "../segment/footer.js";
import type { Page } from "../segment/page.js";
import type { SegmentReader } from "../segment/segment-reader.js";
import { idIn, openSortedIds } from "../segment/sorted-ids.js";
import { firstIndex } from "../segment/first-index.js";

export class IdCursor {
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
