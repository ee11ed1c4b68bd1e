/** The addresses of the blocks of all inverted lists, for searches in one kernel call. */

import { listBlockLayout, listBlockTableLayout } from "./kernels/kernels.wasm.js";
import { allocate, allWords, free, wordsAt, writeWords } from "./kernels/memory.js";

/** Blocks of one list are consecutive; those of no list come last. Holds kernel memory: call `free` when done. */
export class ListBlockTable {
  /** The address of the struct that kernels take. */
  readonly address: number;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** Rows of the largest block. */
  readonly rowsMax: number;
  readonly #blocks: number;

  /**
   * `firsts`: for each list the number of its first block, then the number of the first block of no list, then the number of
   * blocks. `newerSegments`: for each block, how many segments may shadow rows of it.
   */
  constructor(firsts: readonly number[], newerSegments: readonly number[], rowsMax: number) {
    this.rowsMax = rowsMax;
    this.bytes =
      listBlockTableLayout.bytes + 4 * firsts.length + listBlockLayout.bytes * newerSegments.length;
    this.address = allocate(this.bytes);
    const firstsAt = this.address + listBlockTableLayout.bytes;
    this.#blocks = firstsAt + 4 * firsts.length;
    const nLists = firsts.length - 2;
    writeWords(this.address, listBlockTableLayout, {
      firsts: firstsAt,
      blocks: this.#blocks,
      epoch: 0,
      nLists,
    });
    wordsAt(firstsAt, firsts.length).set(firsts);
    newerSegments.forEach((count, number) =>
      writeWords(this.#addressOf(number), listBlockLayout, { block: 0, epoch: 0, newerSegments: count }),
    );
  }

  /** The epoch of the next searches, from 1. Blocks that were put in other epochs do not count as in memory. */
  set epoch(epoch: number) {
    allWords()[(this.address + listBlockTableLayout.epoch) >>> 2] = epoch;
  }

  /** Sets the struct of a block, which must not move until the epoch ends. */
  put(number: number, block: number, epoch: number): void {
    const at = this.#addressOf(number);
    const words = allWords();
    words[(at + listBlockLayout.block) >>> 2] = block;
    words[(at + listBlockLayout.epoch) >>> 2] = epoch;
  }

  #addressOf(number: number): number {
    return this.#blocks + listBlockLayout.bytes * number;
  }

  free(): void {
    free(this.address);
  }
}
