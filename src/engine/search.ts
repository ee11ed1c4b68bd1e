/** Scanned blocks of codes to the k nearest rows. */

import type { LoadedCodes, Scanner } from "./codec.js";
import { wordsAt } from "./kernels/memory.js";
import { type Candidate, TopK } from "./top-k.js";

/**
 * One query's search, block by block. Rows of equal score are ordered by their fingerprints, so that the
 * result does not depend on the order of blocks.
 */
export class Search {
  readonly #scanner: Scanner;
  readonly #nearest: TopK;

  /** Takes over `scanner`. */
  constructor(scanner: Scanner, topK: number) {
    this.#scanner = scanner;
    this.#nearest = new TopK(topK);
  }

  /** No row with a greater score can still enter; Infinity while fewer than k rows were found. */
  get threshold(): number {
    return this.#nearest.threshold;
  }

  /**
   * Compares the query with one block. `fingerprints` is where the rows' fingerprints lie in kernel memory,
   * layout (n, 4) words; `accept` decides, before a row enters, whether it may.
   */
  scan(block: number, codes: LoadedCodes, fingerprints: number, accept: (row: number) => boolean): void {
    const count = this.#scanner.scan(codes, this.#nearest.threshold);
    const { survivors } = this.#scanner;
    for (let i = 0; i < count; i++) {
      const row = survivors[i];
      const score = this.#scanner.score(codes, row);
      if (score > this.#nearest.threshold || !accept(row)) continue;
      const words = wordsAt(fingerprints + 16 * row, 4);
      this.#nearest.push(score, block, row, words[0], words[1], words[2], words[3]);
    }
  }

  /** The rows found, nearest first. Frees the scanner. */
  finish(): Candidate[] {
    this.#scanner.free();
    return this.#nearest.sorted();
  }
}
