/**
 * Codes of a segment's rows in their second lists (see engine/second-lists.ts): what a warm search needs to find rows there. Vectors, ids
 * and all else are in the blocks of the first lists alone. FORMAT.md §4 defines the bytes.
 */

import { spilledGroupLayout } from "../engine/kernels/kernels.wasm.js";
import { allocate, allocatedBytes, bytesAt, free, wordsAt } from "../engine/kernels/memory.js";
import { rabitqBytes } from "../engine/rabitq.js";
import { noList } from "../engine/second-lists.js";
import type { CachedValue } from "./cache-group.js";

/** Of the lists that a segment's rows are grouped by. */
export interface ListShape {
  readonly nLists: number;
  readonly dimension: number;
}

/** All of them in kernel memory. */
export class SpilledCodes implements CachedValue {
  readonly bytes: number;
  /** Kernel memory offset of the address of each list's first group, uint32; 0 for lists without rows. */
  readonly groups: number;
  /** Rows of the largest group. */
  readonly rowsMax: number;

  /** `plaintexts`: of the blocks, in their order. Clears them. */
  constructor(plaintexts: readonly Uint8Array[], { nLists, dimension }: ListShape) {
    const before = allocatedBytes();
    const length = plaintexts.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const { bytes: headBytes } = spilledGroupLayout;
    this.groups = allocate(4 * nLists + length + headBytes);
    const addresses = wordsAt(this.groups, nLists).fill(0);
    const first = this.groups + 4 * nLists;
    let end = first;
    for (const plaintext of plaintexts) {
      bytesAt(end, plaintext.length).set(plaintext);
      plaintext.fill(0);
      end += plaintext.length;
    }
    // After the last group: a group of no list.
    wordsAt(end, 2).set([noList, 0]);
    let rowsMax = 0;
    for (let group = first; group < end;) {
      const [list, n] = wordsAt(group, 2);
      // Groups of one list follow one another.
      if (addresses[list] === 0) addresses[list] = group;
      rowsMax = Math.max(rowsMax, n);
      group += headBytes + 4 * n + rabitqBytes(n, dimension);
    }
    this.rowsMax = rowsMax;
    this.bytes = allocatedBytes() - before;
  }

  free(): void {
    free(this.groups);
  }
}
