/** The postings of one term from several lists, put in the order in which the rows are written. */

import type { PostingBlock } from "../engine/posting-cursor.js";
import type { PostingStream } from "../engine/postings.js";
import { noPlace } from "./term-source.js";

/** Positions that are written between two pauses, about. */
const positionsTogether = 2 ** 14;
const sizeMin = 2 ** 8;

/** To be used for one term after the other: it keeps its memory. */
export class TermPostings {
  #count = 0;
  #rows: Uint32Array = new Uint32Array(sizeMin);
  #frequencies: Uint32Array = new Uint32Array(sizeMin);
  /** Where the positions of each begin, and how many there are. */
  #starts: Uint32Array = new Uint32Array(sizeMin);
  #counts: Uint32Array = new Uint32Array(sizeMin);
  /** Positions, each less the one before in its row. */
  #gaps: Uint32Array = new Uint32Array(sizeMin);
  #gapsUsed = 0;
  /** Where runs of ascending rows end, but for the last one. Each list is a run if its rows keep their order. */
  readonly #runEnds: number[] = [];
  #ends = 0;
  /** The postings in the order of their rows, once there were several runs. */
  #order: Uint32Array = new Uint32Array(0);
  #spare: Uint32Array = new Uint32Array(0);
  #isOrdered = false;
  #written = 0;

  get count(): number {
    return this.#count;
  }

  clear(): void {
    this.#count = 0;
    this.#gapsUsed = 0;
    this.#ends = 0;
    this.#isOrdered = false;
    this.#written = 0;
  }

  /** Adds the rows of a block that have a place. Returns how many positions the block has. */
  add(block: PostingBlock, places: Uint32Array): number {
    const { rows, frequencies, counts, gaps } = block;
    if (this.#count + block.count > this.#rows.length) this.#grow();
    let start = this.#gapsUsed;
    let n = this.#count;
    let before = n === 0 ? -1 : this.#rows[n - 1];
    for (let i = 0; i < block.count; i++) {
      const place = places[rows[i]];
      if (place !== noPlace) {
        if (place < before) this.#runEnds[this.#ends++] = n;
        before = place;
        this.#rows[n] = place;
        this.#frequencies[n] = frequencies[i];
        this.#starts[n] = start;
        this.#counts[n] = counts[i];
        n++;
      }
      start += counts[i];
    }
    const positions = start - this.#gapsUsed;
    this.#count = n;
    if (start > this.#gaps.length) this.#gaps = grown(this.#gaps, start);
    for (let i = 0, at = this.#gapsUsed; i < positions; i++) this.#gaps[at++] = gaps[i];
    this.#gapsUsed = start;
    return positions;
  }

  /** Merges each two runs. Returns whether there were any, and there may be more. */
  mergeRuns(): boolean {
    if (this.#ends === 0) return false;
    if (!this.#isOrdered) this.#beginOrder();
    const endOf = (i: number) => (i < this.#ends ? this.#runEnds[i] : this.#count);
    let kept = 0;
    for (let i = 0, start = 0; start < this.#count; i += 2) {
      const end = endOf(i + 1);
      this.#merge(start, endOf(i), end);
      if (end < this.#count) this.#runEnds[kept++] = end;
      start = end;
    }
    this.#ends = kept;
    [this.#order, this.#spare] = [this.#spare, this.#order];
    return true;
  }

  #beginOrder(): void {
    this.#isOrdered = true;
    if (this.#order.length < this.#count) {
      this.#order = new Uint32Array(this.#rows.length);
      this.#spare = new Uint32Array(this.#rows.length);
    }
    for (let i = 0; i < this.#count; i++) this.#order[i] = i;
  }

  #merge(start: number, middle: number, end: number): void {
    const rows = this.#rows;
    const from = this.#order;
    const to = this.#spare;
    let a = start;
    let b = middle;
    for (let at = start; at < end; at++) {
      to[at] = b === end || (a < middle && rows[from[a]] < rows[from[b]]) ? from[a++] : from[b++];
    }
  }

  /** Writes more postings to a stream's list. `lengths`: of the texts of all rows. Returns whether there are more. */
  writeSome(stream: PostingStream, lengths: Uint32Array): boolean {
    const count = this.#count;
    let next = this.#written;
    for (let positions = 0; next < count && positions < positionsTogether; next++) {
      const i = this.#isOrdered ? this.#order[next] : next;
      const row = this.#rows[i];
      stream.addRow(row, lengths[row]);
      stream.addStored(this.#frequencies[i], this.#gaps, this.#starts[i], this.#counts[i]);
      positions += this.#counts[i];
    }
    this.#written = next;
    return next < count;
  }

  /** Makes room for another block. */
  #grow(): void {
    const size = 2 * this.#rows.length;
    this.#rows = grown(this.#rows, size);
    this.#frequencies = grown(this.#frequencies, size);
    this.#starts = grown(this.#starts, size);
    this.#counts = grown(this.#counts, size);
  }
}

/** A copy with room for `size` and as many again. */
function grown(values: Uint32Array, size: number): Uint32Array {
  const larger = new Uint32Array(Math.max(size, 2 * values.length));
  larger.set(values);
  return larger;
}
