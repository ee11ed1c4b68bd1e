/** The code blocks of a segment: rows of one inverted list each. */

import type { ByteWriter } from "../../engine/byte-writer.js";
import type { KeyOf } from "../cache/cache-group.js";
import { BlockTable, type BlockWords, type EntryReader, rowWords, writeEntries } from "./block-table.js";
import type { RowBlock } from "./block.js";
import { corruptFooter } from "./footer-texts.js";
import type { OpenCodes } from "./opened-blocks.js";

/** Codes of rows of one inverted list. They are the first blocks of a segment, so its number is also its place among them. */
export interface CodeBlock extends RowBlock, KeyOf<OpenCodes> {
  readonly list: number;
  /** No row is farther than this from the list's centroid, in list space. */
  readonly radius: number;
}

/** The least that a row takes. */
const fingerprintBytes = 16;
const listMax = 2 ** 32 - 1;
/** Of a block in memory: its length, first row, rows, list, radius. */
const word = { length: 0, rows: 2, list: rowWords, radius: rowWords + 1 };

const layout: BlockWords<CodeBlock> = {
  count: rowWords + 2,
  // Field by field: a search may make tens of thousands, and spreading takes several times as long.
  make: ({ number, offset, length, firstRow, rows }, own, at) => ({
    number,
    offset,
    length,
    firstRow,
    rows,
    list: own[at + word.list],
    radius: bitsFloat(own[at + word.radius]),
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

export class CodeTable extends BlockTable<CodeBlock> {
  /** All blocks are of lists below it. */
  readonly lists: number;

  /** Of `count` blocks with `rows` rows together, whose entries come next. `offset`: of the first one. They are the first of an object. */
  constructor(entries: EntryReader, count: number, rows: number, offset: number) {
    let list = 0;
    const words = entries.words({ count, rows, each: layout.count }, (own, at) => {
      list += entries.varint();
      const radius = entries.byte() | (entries.byte() << 8);
      const [length, blockRows] = [own[at + word.length], own[at + word.rows]];
      if (blockRows === 0 || fingerprintBytes * blockRows > length) throw corruptFooter();
      if (list > listMax || radius > radiusMax) throw corruptFooter();
      own[at + word.list] = list;
      own[at + word.radius] = radius << radiusShift;
    });
    super(words, layout, 0, offset);
    this.lists = count === 0 ? 0 : list + 1;
  }
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
