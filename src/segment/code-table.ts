/**
 * The code blocks of a segment. What is sealed for one list is cut into blocks that are small, so that a query with a filter reads little
 * besides the rows that match; scanning takes less time in larger ones. So sealed blocks of one list that follow one another are one
 * block, up to as many bytes.
 */

import { rowsTogether } from "../engine/code-pieces.js";
import type { RowBlock } from "./block.js";
import { BlockTable, type BlockWords, rowWords } from "./block-table.js";
import type { KeyOf } from "./cache-group.js";
import type { OpenCodes } from "./opened-blocks.js";

/** Codes of rows of one inverted list, in one sealed block or in several that follow one another; the number is that of the first. */
export interface CodeBlock extends RowBlock, KeyOf<OpenCodes> {
  readonly list: number;
  /** No row is farther than this from the list's centroid, in list space. */
  readonly radius: number;
  /** How many sealed blocks it has. */
  readonly sealed: number;
}

/** Of a block, as stored. */
export const codeBlockBytesMax = 640 * 1024;
/** Of any sealed block in the footer: its length, first row, rows, list, radius. */
const words = { count: rowWords + 2, length: 0, rows: 2, list: 3, radius: 4 };

const layout: BlockWords<CodeBlock> = {
  count: words.count,
  // Field by field: a search may make tens of thousands, and spreading takes several times as long.
  make: ({ number, offset, length, firstRow, rows }, footer, at) => ({
    number,
    offset,
    length,
    firstRow,
    rows,
    list: footer[at + words.list],
    radius: bitsFloat(footer[at + words.radius]),
    sealed: 1,
  }),
};

export class CodeTable implements Iterable<CodeBlock> {
  /** Each sealed block as a block of its own. */
  readonly sealed: BlockTable<CodeBlock>;
  readonly #footer: Uint32Array;
  /** Of each block the number of its first sealed one; then how many sealed ones there are. */
  readonly #firsts: Uint32Array;
  /** The same object for a block each time: the cache knows blocks by theirs. */
  readonly #made = new Map<number, CodeBlock>();

  /** `footer`: the words of all sealed blocks, kept; `offset`: of the first one. They are the first of an object. */
  constructor(footer: Uint32Array, offset: number) {
    this.sealed = new BlockTable(footer, layout, 0, offset);
    this.#footer = footer;
    this.#firsts = firstsOf(footer);
  }

  /** Words of the footer per sealed block. */
  static get words(): number {
    return words.count;
  }

  get length(): number {
    return this.#firsts.length - 1;
  }

  /** What it takes in memory, in bytes, without blocks that were asked for. */
  get bytes(): number {
    return this.sealed.bytes + this.#firsts.byteLength;
  }

  /** Block `i`, which must be one. */
  at(i: number): CodeBlock {
    const [first, end] = [this.#firsts[i], this.#firsts[i + 1]];
    if (end === first + 1) return this.sealed.at(first);
    const known = this.#made.get(i);
    if (known !== undefined) return known;
    const made = { ...this.sealed.at(first), sealed: end - first };
    for (let at = words.count * (first + 1); at < words.count * end; at += words.count) {
      made.length += this.#footer[at + words.length];
      made.rows += this.#footer[at + words.rows];
      made.radius = Math.max(made.radius, bitsFloat(this.#footer[at + words.radius]));
    }
    this.#made.set(i, made);
    return made;
  }

  /** The block that holds `row`. */
  ofRow(row: number): CodeBlock {
    return this.at(this.positionOf(this.sealed.ofRow(row).number));
  }

  /** The position of the block with the sealed block of this number. */
  positionOf(number: number): number {
    let low = 0;
    let high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#firsts[middle] <= number) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The sealed blocks of a block, each as a block of its own. */
  sealedOf(block: CodeBlock): readonly CodeBlock[] {
    if (block.sealed === 1) return [block];
    return Array.from({ length: block.sealed }, (_, i) => this.sealed.at(block.number + i));
  }

  *[Symbol.iterator](): Generator<CodeBlock> {
    for (let i = 0; i < this.length; i++) yield this.at(i);
  }
}

function firstsOf(footer: Uint32Array): Uint32Array {
  const firsts: number[] = [];
  let bytes = 0;
  for (let at = 0; at < footer.length; at += words.count) {
    const before = at - words.count;
    bytes += footer[at + words.length];
    const isNext =
      at > 0 &&
      bytes <= codeBlockBytesMax &&
      footer[before + words.list] === footer[at + words.list] &&
      footer[before + words.rows] % rowsTogether === 0;
    if (isNext) continue;
    firsts.push(at / words.count);
    bytes = footer[at + words.length];
  }
  firsts.push(footer.length / words.count);
  return Uint32Array.from(firsts);
}

const bits = new DataView(new ArrayBuffer(4));

function bitsFloat(value: number): number {
  bits.setUint32(0, value);
  return bits.getFloat32(0);
}
