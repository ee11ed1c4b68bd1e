/**
 * The code blocks of a segment. The sealed codes of one list are cut into blocks that are small, so that a query with a filter reads little
 * besides the rows that match; scanning takes less time in larger ones. So sealed blocks of one list that follow one another are one
 * block, up to as many bytes.
 */

import type { ByteWriter } from "../../engine/byte-writer.js";
import { rowsTogether } from "../../engine/codes/code-pieces.js";
import type { KeyOf } from "../cache/cache-group.js";
import { BlockTable, type BlockWords, type EntryReader, rowWords, writeEntries } from "./block-table.js";
import type { RowBlock } from "./block.js";
import { misfit } from "./footer-texts.js";
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
/** The least that a row takes. */
const fingerprintBytes = 16;
const listMax = 2 ** 32 - 1;
/** Of a sealed block in memory: its length, first row, rows, list, radius. */
const words = { count: rowWords + 2, length: 0, rows: 2, list: 3, radius: 4 };

const layout: BlockWords<CodeBlock> = {
  count: words.count,
  // Field by field: a search may make tens of thousands, and spreading takes several times as long.
  make: ({ number, offset, length, firstRow, rows }, own, at) => ({
    number,
    offset,
    length,
    firstRow,
    rows,
    list: own[at + words.list],
    radius: bitsFloat(own[at + words.radius]),
    sealed: 1,
  }),
};

/** Adds blocks, which ascend by list, to the entries of a footer. */
export function writeCodeEntries(
  entries: ByteWriter,
  blocks: readonly Pick<CodeBlock, "length" | "rows" | "list" | "radius">[],
): void {
  let before = 0;
  writeEntries(entries, blocks, ({ list, radius }) => {
    entries.varint(list - before);
    before = list;
    const bits16 = radiusBits(radius);
    entries.byte(bits16 & 0xff);
    entries.byte(bits16 >>> 8);
  });
}

export class CodeTable implements Iterable<CodeBlock> {
  /** Each sealed block as a block of its own. */
  readonly sealed: BlockTable<CodeBlock>;
  /** All blocks are of lists below it. */
  readonly lists: number;
  readonly #words: Uint32Array;
  /** Of each block the number of its first sealed one; then how many sealed ones there are. */
  readonly #firsts: Uint32Array;
  /** The same object for a block each time: the cache knows blocks by theirs. */
  readonly #made = new Map<number, CodeBlock>();

  /** Of `count` sealed blocks with `rows` rows together, whose entries come next. `offset`: of the first one. They are the first of an object. */
  constructor(entries: EntryReader, count: number, rows: number, offset: number) {
    let list = 0;
    this.#words = entries.words({ count, rows, each: words.count }, (own, at) => {
      list += entries.varint();
      const radius = entries.byte() | (entries.byte() << 8);
      const [length, blockRows] = [own[at + words.length], own[at + words.rows]];
      if (blockRows === 0 || fingerprintBytes * blockRows > length) throw misfit();
      if (list > listMax || radius > radiusMax) throw misfit();
      own[at + words.list] = list;
      own[at + words.radius] = radius << radiusShift;
    });
    this.lists = count === 0 ? 0 : list + 1;
    this.sealed = new BlockTable(this.#words, layout, 0, offset);
    this.#firsts = firstsOf(this.#words);
  }

  get length(): number {
    return this.#firsts.length - 1;
  }

  /** Memory held, in bytes, without blocks that were asked for. */
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
      made.length += this.#words[at + words.length];
      made.rows += this.#words[at + words.rows];
      made.radius = Math.max(made.radius, bitsFloat(this.#words[at + words.radius]));
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

function firstsOf(sealed: Uint32Array): Uint32Array {
  const firsts: number[] = [];
  let bytes = 0;
  for (let at = 0; at < sealed.length; at += words.count) {
    const before = at - words.count;
    bytes += sealed[at + words.length];
    const isNext =
      at > 0 &&
      bytes <= codeBlockBytesMax &&
      sealed[before + words.list] === sealed[at + words.list] &&
      sealed[before + words.rows] % rowsTogether === 0;
    if (isNext) continue;
    firsts.push(at / words.count);
    bytes = sealed[at + words.length];
  }
  firsts.push(sealed.length / words.count);
  return Uint32Array.from(firsts);
}

/** A radius is stored as the upper half of a float32 but for its sign, and may grow by that but never shrink. */
const radiusShift = 15;
/** Infinity. */
const radiusMax = 0xff00;
const bits = new DataView(new ArrayBuffer(4));

/** Of the least such radius that is not below `radius`. */
function radiusBits(radius: number): number {
  bits.setFloat32(0, radius);
  const float = bits.getUint32(0) + (bits.getFloat32(0) < radius ? 1 : 0);
  return Math.ceil(float / 2 ** radiusShift);
}

function bitsFloat(value: number): number {
  bits.setUint32(0, value);
  return bits.getFloat32(0);
}
