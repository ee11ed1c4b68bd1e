/**
 * What a footer says of a section that may have tens of thousands of blocks: codes, records, contents. A process reads it before its
 * first query, so an entry has few bytes. First rows are sums. A sealed length is stored once for as many rows: all blocks of codes
 * with as many rows are equally long. docs/internals/format.md §4.
 */

import type { ByteWriter } from "../engine/byte-writer.js";
import type { RowBlock } from "./block.js";
import { rowWords } from "./block-table.js";
import { misfit } from "./footer-texts.js";

/** `addOwn` adds what else a block has. */
export function writeEntries<D extends Pick<RowBlock, "length" | "rows">>(
  entries: ByteWriter,
  blocks: readonly D[],
  addOwn?: (block: D) => void,
): void {
  const lengths = new Map<number, number>();
  for (const block of blocks) {
    const { rows, length } = block;
    entries.varint(rows);
    entries.varint(lengths.get(rows) === length ? 0 : length);
    lengths.set(rows, length);
    addOwn?.(block);
  }
}

export class EntryReader {
  /** Where the next entry begins. */
  at: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  /** The words of `count` blocks, with `rows` rows together, as `BlockTable` keeps them: `each` per block, of which `readOwn` reads the rest. */
  words(
    { count, rows: rowsInAll, each = rowWords }: { count: number; rows: number; each?: number },
    readOwn?: (words: Uint32Array, at: number) => void,
  ): Uint32Array {
    // An entry has two bytes or more.
    if (2 * count > this.#bytes.length - this.at) throw misfit();
    const words = new Uint32Array(each * count);
    const lengths = new Map<number, number>();
    let firstRow = 0;
    for (let at = 0; at < words.length; at += each) {
      const rows = this.varint();
      const length = this.varint() || lengths.get(rows);
      if (length === undefined || rows === 0) throw misfit();
      lengths.set(rows, length);
      words.set([length, firstRow, rows], at);
      firstRow += rows;
      readOwn?.(words, at);
    }
    if (firstRow !== rowsInAll) throw misfit();
    return words;
  }

  varint(): number {
    let value = 0;
    for (let unit = 1; unit <= 2 ** 28; unit *= 2 ** 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * unit;
      if (byte < 0x80 && value < 2 ** 32) return value;
    }
    throw misfit();
  }

  byte(): number {
    if (this.at >= this.#bytes.length) throw misfit();
    return this.#bytes[this.at++];
  }
}
