/** The addresses of the blocks of all inverted lists, for searches in one kernel call. */

import { listBlockLayout, listBlockTableLayout, spilledSegmentLayout } from "../kernels/kernels.wasm.js";
import { lastUseOf } from "../codes/block-struct.js";
import { allocate, allWords, free, wordsAt, writeWords } from "../kernels/memory.js";

/** Which blocks there are. */
export interface ListBlocksOf {
  /** For each list the number of its first block, then the number of the first block of no list, then the number of blocks. */
  readonly firsts: readonly number[];
  /** In the order of their numbers. */
  readonly blocks: readonly {
    /** How many segments may shadow rows of the block. */
    readonly newerSegments: number;
    /** Whether its rows have codes in second lists, too. */
    readonly isSpilled: boolean;
  }[];
  /** Rows of the largest block. */
  readonly rowsMax: number;
  /** The segments whose rows have codes in second lists, too. */
  readonly spilled: readonly {
    /** Per block of the segment, ascending: its first row, and its number. */
    readonly firstRows: Uint32Array;
    readonly numbers: Uint32Array;
  }[];
}

/** Blocks of one list are consecutive; those of no list come last. Holds kernel memory: call `free` when done. */
export class ListBlockTable {
  /** The address of the struct that kernels take. */
  readonly address: number;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;
  /** Rows of the largest block. */
  readonly rowsMax: number;
  readonly #blocks: number;
  readonly #spilled: number;

  constructor({ firsts, blocks, rowsMax, spilled }: ListBlocksOf) {
    this.rowsMax = rowsMax;
    const places = spilled.reduce((sum, { numbers }) => sum + 2 * numbers.length, 0);
    const words = firsts.length + places;
    const structs = listBlockLayout.bytes * blocks.length + spilledSegmentLayout.bytes * spilled.length;
    this.bytes = listBlockTableLayout.bytes + structs + 4 * words;
    this.address = allocate(this.bytes);
    this.#blocks = this.address + listBlockTableLayout.bytes;
    this.#spilled = this.#blocks + listBlockLayout.bytes * blocks.length;
    let end = this.#spilled + spilledSegmentLayout.bytes * spilled.length;
    const place = (values: ArrayLike<number>) => {
      const at = end;
      wordsAt(at, values.length).set(values);
      end += 4 * values.length;
      return at;
    };
    writeWords(this.address, listBlockTableLayout, {
      firsts: place(firsts),
      blocks: this.#blocks,
      nBlocks: blocks.length,
      nLists: firsts.length - 2,
      spilled: this.#spilled,
      nSpilled: spilled.length,
    });
    spilled.forEach(({ firstRows, numbers }, i) =>
      writeWords(this.#spilled + spilledSegmentLayout.bytes * i, spilledSegmentLayout, {
        groups: 0,
        firstRows: place(firstRows),
        numbers: place(numbers),
      }),
    );
    blocks.forEach(({ newerSegments, isSpilled }, number) =>
      writeWords(this.#addressOf(number), listBlockLayout, {
        block: 0,
        epoch: 0,
        newerSegments,
        isSpilled: isSpilled ? 1 : 0,
      }),
    );
  }

  /** Sets the struct of a block, which must not move until the epoch ends. */
  put(number: number, block: number, epoch: number): void {
    const at = this.#addressOf(number);
    const words = allWords();
    words[(at + listBlockLayout.block) >>> 2] = block;
    // A thread that searches sees the address, too, if it sees the epoch.
    Atomics.store(words, (at + listBlockLayout.epoch) >>> 2, epoch);
  }

  /** Sets where the codes in second lists of the `i`-th spilled segment are: see SpilledCodes. For searches until the next await. */
  putSpilled(i: number, groups: number): void {
    const at = this.#spilled + spilledSegmentLayout.bytes * i;
    allWords()[(at + spilledSegmentLayout.groups) >>> 2] = groups;
  }

  /** How many blocks in memory, by this epoch, the search with this mark has used. */
  countUsed(now: number, epoch: number): number {
    const words = allWords();
    let count = 0;
    for (let at = this.#blocks; at < this.#spilled; at += listBlockLayout.bytes) {
      const isOpen = words[(at + listBlockLayout.epoch) >>> 2] === epoch;
      if (isOpen && lastUseOf(words[(at + listBlockLayout.block) >>> 2]) === now) count++;
    }
    return count;
  }

  #addressOf(number: number): number {
    return this.#blocks + listBlockLayout.bytes * number;
  }

  free(): void {
    free(this.address);
  }
}
