/** Where the blocks of all inverted lists are in kernel memory, for searches that take one call of a kernel. */

import { listBlockLayout, listBlockTableLayout } from "./kernels/kernels.wasm.js";
import { allocate, allWords, free, wordsAt, writeWords } from "./kernels/memory.js";

/** Parts of one list follow one another; those of no list come last. Holds kernel memory: call `free` when done. */
export class ListBlockTable {
  /** Where the record lies that kernels take. */
  readonly record: number;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** Rows of the largest block. */
  readonly rowsMax: number;
  readonly #blocks: number;

  /**
   * `firsts`: for each list the number of its first part, then of the first one of no list, then how many there are. `newer`:
   * for each part, how many segments may hide rows of it.
   */
  constructor(firsts: readonly number[], newerSegments: readonly number[], rowsMax: number) {
    this.rowsMax = rowsMax;
    this.bytes =
      listBlockTableLayout.bytes + 4 * firsts.length + listBlockLayout.bytes * newerSegments.length;
    this.record = allocate(this.bytes);
    const firstsAt = this.record + listBlockTableLayout.bytes;
    this.#blocks = firstsAt + 4 * firsts.length;
    const nLists = firsts.length - 2;
    writeWords(this.record, listBlockTableLayout, {
      firsts: firstsAt,
      blocks: this.#blocks,
      epoch: 0,
      nLists,
    });
    wordsAt(firstsAt, firsts.length).set(firsts);
    newerSegments.forEach((count, number) =>
      writeWords(this.#recordOf(number), listBlockLayout, { block: 0, epoch: 0, newerSegments: count }),
    );
  }

  /** The epoch in which a search takes place, from 1: what was put here in others is no longer there. */
  set epoch(epoch: number) {
    allWords()[(this.record + listBlockTableLayout.epoch) >>> 2] = epoch;
  }

  /** The record of a part's block, which stays where it is until the epoch ends. */
  put(number: number, block: number, epoch: number): void {
    const at = this.#recordOf(number);
    const words = allWords();
    words[(at + listBlockLayout.block) >>> 2] = block;
    words[(at + listBlockLayout.epoch) >>> 2] = epoch;
  }

  #recordOf(number: number): number {
    return this.#blocks + listBlockLayout.bytes * number;
  }

  free(): void {
    free(this.record);
  }
}
