/**
 * Postings: which rows have a word or a stem, how often, and words at which positions. docs/internals/format.md §4.
 *
 * The postings of all terms are one stream, cut into chunks of equal length. A list is one block, or several, each with a head that
 * bounds the scores of its rows. A block lies within one chunk.
 */

import { SealdexError } from "../errors.js";
import { BitWriter } from "./bit-writer.js";
import { ByteWriter } from "../engine/byte-writer.js";

/** Sealed, with the four bytes that end its padding, a chunk is not padded further. */
export const chunkBytes = 32 * 1024 - 4;
export const blockRowsMax = 128;
/** Positions of one term in one row that are kept, the first ones. */
export const positionsMax = 4095;
/** A block is closed once it has as many positions. */
const blockPositionsMax = 4096;
/** With those of its last row. */
export const blockPositionsEnd = blockPositionsMax + positionsMax;

/** The place of a term's postings, and the bound of their scores. */
export interface PostingList {
  /** Rows that have the term. */
  readonly rows: number;
  /** From `start` to `end` of the stream, in bytes; `end` may be farther than the list reaches. */
  readonly start: number;
  readonly end: number;
  /** Whether its blocks have heads: a list of one block has none. */
  readonly hasHeads: boolean;
  readonly frequencyMax: number;
  /** Of the rows that have the term. */
  readonly lengthMin: number;
}

/** Of postings that no writer writes. */
export function badPostings(expected: string): SealdexError {
  return new SealdexError("corrupt", `postings: expected ${expected}`);
}

/** Written list by list: the rows of one, each with its occurrences, and the list's end. */
export class PostingStream {
  readonly #chunks: Uint8Array[] = [];
  #chunk = new Uint8Array(chunkBytes);
  #used = 0;

  /** Of the present list. */
  #rows = 0;
  #start = 0;
  #hasHeads = false;
  #frequencyMax = 0;
  #lengthMin = 0xffffffff;

  /** Of its present block, which is not written yet. */
  #count = 0;
  #lastRow = -1;
  /** The last row of the block before. */
  #before = -1;
  #blockLengthMin = 0xffffffff;
  #positionCount = 0;
  #lastPosition = 0;
  readonly #gaps = new Uint32Array(blockRowsMax);
  readonly #frequencies = new Uint32Array(blockRowsMax);
  /** How many positions each row has. */
  readonly #counts = new Uint32Array(blockRowsMax);
  readonly #positions = new Uint32Array(blockPositionsEnd);
  readonly #scratch = new Uint32Array(blockRowsMax);
  readonly #head = new ByteWriter();
  readonly #bits = new BitWriter();

  /** Adds a row to the list, after those before. `length`: of its text. */
  addRow(row: number, length: number): void {
    if (this.#count === blockRowsMax || this.#positionCount >= blockPositionsMax) this.#closeBlock(true);
    this.#gaps[this.#count] = row - this.#lastRow - 1;
    this.#frequencies[this.#count] = 0;
    this.#counts[this.#count] = 0;
    this.#count++;
    this.#lastRow = row;
    this.#lastPosition = 0;
    if (length < this.#blockLengthMin) this.#blockLengthMin = length;
  }

  /** An occurrence in the last row, which counts as `weight` ones. Positions ascend. */
  addOccurrence(weight: number, position: number): void {
    const i = this.#count - 1;
    this.#frequencies[i] += weight;
    if (this.#counts[i] === positionsMax) return;
    this.#counts[i]++;
    this.#positions[this.#positionCount++] = position - this.#lastPosition;
    this.#lastPosition = position;
  }

  /** Occurrences in the last row without positions. */
  addFrequency(frequency: number): void {
    this.#frequencies[this.#count - 1] += frequency;
  }

  /** Ends the list, which has a row. */
  endList(): PostingList {
    this.#closeBlock(this.#hasHeads);
    const list = {
      rows: this.#rows,
      start: this.#start,
      end: this.#length,
      hasHeads: this.#hasHeads,
      frequencyMax: this.#frequencyMax,
      lengthMin: this.#lengthMin,
    };
    this.#rows = 0;
    this.#hasHeads = false;
    this.#frequencyMax = 0;
    this.#lengthMin = 0xffffffff;
    this.#lastRow = -1;
    this.#before = -1;
    return list;
  }

  /** The chunks. The last one is as long as its content. */
  finish(): readonly Uint8Array[] {
    const last = this.#chunk.subarray(0, this.#used);
    return this.#used === 0 ? this.#chunks : [...this.#chunks, last];
  }

  get #length(): number {
    return this.#chunks.length * chunkBytes + this.#used;
  }

  #closeBlock(hasHead: boolean): void {
    const count = this.#count;
    let frequencyMax = 0;
    for (let i = 0; i < count; i++) frequencyMax = Math.max(frequencyMax, this.#frequencies[i]);
    this.#encode(frequencyMax === 1 && [0, count].includes(this.#positionCount));
    this.#head.clear();
    if (hasHead) {
      this.#head.varint(this.#lastRow - this.#before);
      for (const value of [count, frequencyMax, this.#blockLengthMin, this.#bits.length])
        this.#head.varint(value);
    }
    const start = this.#place();
    if (this.#rows === 0) this.#start = start;
    this.#hasHeads = hasHead;
    this.#rows += count;
    this.#frequencyMax = Math.max(this.#frequencyMax, frequencyMax);
    this.#lengthMin = Math.min(this.#lengthMin, this.#blockLengthMin);
    this.#before = this.#lastRow;
    this.#count = 0;
    this.#positionCount = 0;
    this.#blockLengthMin = 0xffffffff;
  }

  /** `isSingle`: whether each row has the term once. */
  #encode(isSingle: boolean): void {
    const bits = this.#bits;
    const count = this.#count;
    bits.clear();
    const hasPositions = this.#positionCount > 0;
    bits.put((isSingle ? 1 : 0) + (hasPositions ? 2 : 0), 2);
    bits.putVector(this.#gaps, count);
    if (!isSingle) {
      for (let i = 0; i < count; i++) this.#scratch[i] = this.#frequencies[i] - 1;
      bits.putVector(this.#scratch, count);
    }
    if (!hasPositions) return;
    if (!isSingle) {
      for (let i = 0; i < count; i++) this.#scratch[i] = this.#frequencies[i] - this.#counts[i];
      bits.putVector(this.#scratch, count);
    }
    bits.putVector(this.#positions, this.#positionCount);
  }

  /** Adds the encoded block, and returns where it begins. */
  #place(): number {
    const bytes = this.#head.length + this.#bits.length;
    if (this.#used + bytes > chunkBytes) {
      this.#chunks.push(this.#chunk);
      this.#chunk = new Uint8Array(chunkBytes);
      this.#used = 0;
    }
    const start = this.#length;
    if (this.#head.length > 0) this.#chunk.set(this.#head.view(), this.#used);
    this.#bits.copyTo(this.#chunk, this.#used + this.#head.length);
    this.#used += bytes;
    return start;
  }
}
