/** Blocks of a segment, opened. */

import { BitReader } from "../../text/bit-reader.js";
import { lastUseOf } from "../../engine/codes/block-struct.js";
import type { RowCodes } from "../../engine/codes/code-sections.js";
import type { Codec, LoadedCodes } from "../../engine/codes/codec.js";
import { allocate, allocatedBytes, bytesAt, free, wordsAt } from "../../engine/kernels/memory.js";
import { yieldIfDue } from "../../async/event-loop.js";
import type { CachedValue } from "../cache/cache-group.js";
import { checkEntries, entryWords, corruptIdTable } from "./id-table.js";

/** Entries of an id table that are checked between two looks at the clock. */
const checkedTogether = 16_384;

/** The fingerprints and the codes of the n rows of a code block, as views. Throws `corrupt` unless there are codes of as many. */
export function splitCodes(
  codec: Codec,
  plaintext: Uint8Array,
  n: number,
): { readonly fingerprints: Uint8Array; readonly codes: RowCodes } {
  const codes = { codes: plaintext.subarray(16 * n), n };
  codec.check(codes);
  return { fingerprints: plaintext.subarray(0, 16 * n), codes };
}

/** A code block in kernel memory: the fingerprints of its rows and their codes. */
export class OpenCodes implements CachedValue {
  readonly bytes: number;
  readonly codes: LoadedCodes;
  /** Kernel memory offset of the rows' fingerprints, layout (n, 4) words. */
  readonly fingerprints: number;

  /** Clears the plaintext, of which it has a copy. Throws as `splitCodes`. */
  constructor(codec: Codec, plaintext: Uint8Array, rows: number) {
    const { fingerprints, codes } = splitCodes(codec, plaintext, rows);
    const before = allocatedBytes();
    this.fingerprints = allocate(fingerprints.length);
    bytesAt(this.fingerprints, fingerprints.length).set(fingerprints);
    this.codes = codec.load(codes, this.fingerprints);
    this.bytes = allocatedBytes() - before;
    plaintext.fill(0);
  }

  lastUse(): number {
    return lastUseOf(this.codes.address);
  }

  free(): void {
    this.codes.free();
    free(this.fingerprints);
  }
}

/** A whole id table (see id-table.ts) in kernel memory. */
export class OpenIdTable implements CachedValue {
  readonly bytes: number;
  readonly count: number;
  /** Kernel memory offset of the entries. */
  readonly entries: number;

  /**
   * The table of a segment with these numbers of rows and tombstones. `plaintexts`: of its blocks, in their order. Clears them. Throws `corrupt` unless it
   * has each row once.
   */
  static async open(
    plaintexts: readonly Uint8Array[],
    { rows, deleted }: { readonly rows: number; readonly deleted: number },
  ): Promise<OpenIdTable> {
    const table = new OpenIdTable(plaintexts);
    try {
      const { count } = table;
      if (count !== rows + deleted) throw corruptIdTable(`${rows + deleted} entries, got ${count}`);
      const seen = new Uint32Array(Math.ceil(rows / 32));
      let tombstones = 0;
      for (let start = 0; start < count; start += checkedTogether) {
        const end = Math.min(count, start + checkedTogether);
        tombstones += checkEntries(table.view(), rows, { start, end, seen });
        await yieldIfDue();
      }
      if (tombstones !== deleted) throw corruptIdTable(`${deleted} tombstones, got ${tombstones}`);
      return table;
    } catch (error) {
      table.free();
      throw error;
    }
  }

  private constructor(plaintexts: readonly Uint8Array[]) {
    const length = plaintexts.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const before = allocatedBytes();
    this.entries = allocate(length);
    this.bytes = allocatedBytes() - before;
    this.count = length / (4 * entryWords);
    let at = this.entries;
    for (const plaintext of plaintexts) {
      bytesAt(at, plaintext.length).set(plaintext);
      at += plaintext.length;
      plaintext.fill(0);
    }
  }

  /** The entries in kernel memory, valid while the table is pinned. */
  view(): Uint32Array {
    return wordsAt(this.entries, entryWords * this.count);
  }

  free(): void {
    free(this.entries);
  }
}

/** A block of an id table, in the heap. */
export class IdPage implements CachedValue {
  readonly bytes: number;
  readonly plaintext: Uint8Array;
  readonly entries: Uint32Array;

  /** Of a segment with this many rows. Clears `plaintext`, of which it has a copy. Throws `corrupt` unless it is one. */
  constructor(plaintext: Uint8Array, firstWord: number, rows: number) {
    const count = plaintext.length / (4 * entryWords);
    if (count < 1 || !Number.isInteger(count)) throw corruptIdTable(`entries of ${4 * entryWords} bytes`);
    this.entries = new Uint32Array(entryWords * count);
    this.plaintext = new Uint8Array(this.entries.buffer);
    this.plaintext.set(plaintext);
    this.bytes = this.entries.byteLength;
    plaintext.fill(0);
    if (this.entries[0] !== firstWord) throw corruptIdTable("a block that begins as the footer says");
    checkEntries(this.entries, rows, { start: 0, end: count });
  }
}

/** A chunk of the postings, in the heap. */
export class PostingChunk extends BitReader implements CachedValue {
  /** Clears `plaintext`, of which it has a copy. */
  constructor(plaintext: Uint8Array) {
    super(plaintext);
    plaintext.fill(0);
  }
}
