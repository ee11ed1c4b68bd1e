/** Scanned blocks of codes to the k nearest rows. */

import type { LoadedCodes, Scanner, ScanTarget } from "./codec.js";
import { wordsAt } from "./kernels/memory.js";
import { type Candidate, TopK } from "./top-k.js";

/**
 * One query's search, block by block. Rows of equal score are ordered by their fingerprints, so that the
 * result does not depend on the order of blocks.
 */
export class Search implements ScanTarget {
  readonly #scanner: Scanner;
  readonly #topK: number;
  readonly #nearest: TopK;
  #found = 0;
  #block = 0;
  #fingerprints = 0;
  #accept: (row: number) => boolean = () => true;
  #wants: ((row: number) => boolean) | undefined;

  /** Takes over `scanner`. */
  constructor(scanner: Scanner, topK: number) {
    this.#scanner = scanner;
    this.#topK = topK;
    this.#nearest = new TopK(topK);
  }

  /** No row with a greater score can still enter; Infinity while fewer than k rows were found. */
  get threshold(): number {
    return this.#nearest.threshold;
  }

  get vacancies(): number {
    return this.#topK - this.#found;
  }

  get wants(): ((row: number) => boolean) | undefined {
    return this.#wants;
  }

  /**
   * Compares the query with one block. `fingerprints` is where the rows' fingerprints lie in kernel memory,
   * layout (n, 4) words; `wants` decides before a row is scored, `accept` before it enters, whether it may.
   */
  scan(
    block: number,
    codes: LoadedCodes,
    centroidDistance: number | undefined,
    fingerprints: number,
    accept: (row: number) => boolean,
    wants: ((row: number) => boolean) | undefined,
  ): void {
    this.#block = block;
    this.#fingerprints = fingerprints;
    this.#accept = accept;
    this.#wants = wants;
    this.#scanner.scan(codes, centroidDistance, this);
  }

  offer(row: number, score: number): void {
    if (score > this.#nearest.threshold || !this.#accept(row)) return;
    const words = wordsAt(this.#fingerprints + 16 * row, 4);
    this.#nearest.push(score, this.#block, row, words[0], words[1], words[2], words[3]);
    if (this.#found < this.#topK) this.#found++;
  }

  /** The rows found, nearest first. Frees the scanner. */
  finish(): Candidate[] {
    this.#scanner.free();
    return this.#nearest.sorted();
  }
}
