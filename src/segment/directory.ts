/**
 * A segment's directory: where each of its sealed blocks lies and what it holds. FORMAT.md §4.
 *
 * Blocks follow one another in the object: codes, records, contents, id table, directory. Offsets and block
 * numbers are therefore sums and not stored.
 */

import { SealdexError } from "../errors.js";
import { headerBytes } from "../crypto/sealed-object.js";

/** A sealed block within the object. */
export interface Block {
  /** Its number, for the cipher. */
  readonly number: number;
  /** Where it starts in the object, in bytes. */
  readonly offset: number;
  /** Sealed length, in bytes. */
  readonly length: number;
}

/** Rows `firstRow` to `firstRow + rows` of the segment. */
export interface RowBlock extends Block {
  readonly firstRow: number;
  readonly rows: number;
}

/** Codes of rows of one inverted list. */
export interface CodeBlock extends RowBlock {
  readonly list: number;
  /** No row is farther than this from the list's centroid, in list space. */
  readonly radius: number;
}

/** Entries of the id table, from `firstWord` on (the first word of a fingerprint). */
export interface IdBlock extends Block {
  readonly firstWord: number;
}

export interface Directory {
  readonly dimension: number;
  readonly rows: number;
  readonly codes: readonly CodeBlock[];
  readonly records: readonly RowBlock[];
  readonly contents: readonly RowBlock[];
  readonly ids: readonly IdBlock[];
}

type Unplaced<B extends Block> = Omit<B, "number" | "offset">;

/** What the writer knows of each block, in the order in which it sealed them. */
export interface DirectoryDraft {
  readonly dimension: number;
  readonly rows: number;
  readonly codes: readonly Unplaced<CodeBlock>[];
  readonly records: readonly Unplaced<RowBlock>[];
  readonly contents: readonly Unplaced<RowBlock>[];
  readonly ids: readonly Unplaced<IdBlock>[];
}

const headWords = 6;

export function encodeDirectory(draft: DirectoryDraft): Uint8Array {
  const { dimension, rows, codes, records, contents, ids } = draft;
  const counts = [codes.length, records.length, contents.length, ids.length];
  const words = [dimension, rows, ...counts].concat(
    codes.flatMap((block) => [...rowWords(block), block.list, floatBits(block.radius)]),
    records.flatMap(rowWords),
    contents.flatMap(rowWords),
    ids.flatMap((block) => [block.length, block.firstWord]),
  );
  const bytes = Buffer.alloc(4 * words.length);
  words.forEach((word, i) => bytes.writeUInt32LE(word, 4 * i));
  return bytes;
}

function rowWords({ length, firstRow, rows }: Unplaced<RowBlock>): number[] {
  return [length, firstRow, rows];
}

/** `bytes` are authenticated; a length that does not fit is a writer's bug. */
export function decodeDirectory(bytes: Uint8Array): Directory {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let position = 0;
  const word = () => view.getUint32(4 * position++, true);
  const [dimension, rows, codes, records, contents, ids] = Array.from({ length: headWords }, word);
  if (bytes.length !== 4 * (headWords + 5 * codes + 3 * (records + contents) + 2 * ids)) {
    throw new SealdexError("internal", "segment directory: its length does not fit its counts");
  }
  let number = 0;
  let offset = headerBytes;
  const place = (): Block => {
    const block = { number, offset, length: word() };
    number++;
    offset += block.length;
    return block;
  };
  const rowBlock = (): RowBlock => ({ ...place(), firstRow: word(), rows: word() });
  const codeBlock = (): CodeBlock => ({ ...rowBlock(), list: word(), radius: bitsFloat(word()) });
  const idBlock = (): IdBlock => ({ ...place(), firstWord: word() });
  return {
    dimension,
    rows,
    codes: Array.from({ length: codes }, codeBlock),
    records: Array.from({ length: records }, rowBlock),
    contents: Array.from({ length: contents }, rowBlock),
    ids: Array.from({ length: ids }, idBlock),
  };
}

/** The block that holds `row`: blocks are ascending and without gaps. */
export function blockOfRow<B extends RowBlock>(blocks: readonly B[], row: number): B {
  let low = 0;
  let high = blocks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (blocks[middle].firstRow <= row) low = middle;
    else high = middle - 1;
  }
  return blocks[low];
}

const bits = new DataView(new ArrayBuffer(4));

/** The float32 at or above `value`, as bits: a radius may grow by rounding but never shrink. */
function floatBits(value: number): number {
  bits.setFloat32(0, value);
  if (bits.getFloat32(0) < value) bits.setUint32(0, bits.getUint32(0) + 1);
  return bits.getUint32(0);
}

function bitsFloat(word: number): number {
  bits.setUint32(0, word);
  return bits.getFloat32(0);
}
