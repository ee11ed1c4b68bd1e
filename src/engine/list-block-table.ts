/** Where the blocks of all inverted lists are in kernel memory, for searches that take one call of a kernel. */

import { allocate, allWords, free, wordsAt } from "./kernels/memory.js";

// Records as assembly/search-lists.ts has them.
const headBytes = 16;
const epochWord = 2;
const partWords = 3;

/** Parts of one list follow one another; those of no list come last. Holds kernel memory: call `free` when done. */
export class ListBlockTable {
  /** Where the record lies that kernels take. */
  readonly record: number;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** Rows of the largest block. */
  readonly rowsMax: number;
  readonly #parts: number;

  /**
   * `firsts`: for each list the number of its first part, then of the first one of no list, then how many there are. `newer`:
   * for each part, how many segments may hide rows of it.
   */
  constructor(firsts: readonly number[], newer: readonly number[], rowsMax: number) {
    this.rowsMax = rowsMax;
    this.bytes = headBytes + 4 * firsts.length + 4 * partWords * newer.length;
    this.record = allocate(this.bytes);
    const firstsAt = this.record + headBytes;
    this.#parts = firstsAt + 4 * firsts.length;
    wordsAt(this.record, 4).set([firstsAt, this.#parts, 0, firsts.length - 2]);
    wordsAt(firstsAt, firsts.length).set(firsts);
    const parts = wordsAt(this.#parts, partWords * newer.length).fill(0);
    newer.forEach((count, i) => {
      parts[partWords * i + 2] = count;
    });
  }

  /** The epoch in which a search takes place, from 1: what was put here in others is no longer there. */
  set epoch(epoch: number) {
    allWords()[(this.record >>> 2) + epochWord] = epoch;
  }

  /** The record of a part's block, which stays where it is until the epoch ends. */
  put(number: number, block: number, epoch: number): void {
    const at = (this.#parts >>> 2) + partWords * number;
    const words = allWords();
    words[at] = block;
    words[at + 1] = epoch;
  }

  free(): void {
    free(this.record);
  }
}
