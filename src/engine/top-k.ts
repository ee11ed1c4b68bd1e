/**
 * The k nearest of a stream of candidates, in a heap that lies in kernel memory, so that a scan fills it by itself;
 * assembly/heap.ts says how candidates are ordered.
 */

import { offer, sortHeap } from "./kernels/kernels.js";
import { allDoubles, allocate, allWords, free } from "./kernels/memory.js";

/** A kept candidate: its block's number, its row there, its score. */
export interface Candidate {
  readonly score: number;
  readonly block: number;
  readonly row: number;
}

// Capacity and size (uint32), threshold (float64); then slots: score (float64), block, row (uint32), tie key (16 bytes).
const headBytes = 16;
const slotBytes = 32;

/** Holds kernel memory: call `free` when done. */
export class TopK {
  /** Where the heap lies that kernels take. */
  readonly heap: number;
  readonly #capacity: number;

  /** Keeps at most `capacity` candidates, 0 or more. */
  constructor(capacity: number) {
    this.#capacity = capacity;
    this.heap = allocate(headBytes + slotBytes * capacity);
    allWords().set([capacity, 0], this.heap >>> 2);
    allDoubles()[(this.heap + 8) >>> 3] = capacity === 0 ? -Infinity : Infinity;
  }

  /** No greater score can still enter. Infinity until full, then the worst kept; -Infinity if none fits. */
  get threshold(): number {
    return allDoubles()[(this.heap + 8) >>> 3];
  }

  /** Whether as many candidates are kept as fit. */
  get full(): boolean {
    return allWords()[(this.heap + 4) >>> 2] === this.#capacity;
  }

  /** Offers a candidate; `tie` is where the 16 bytes of its tie key lie. A NaN score is never kept. */
  offer(score: number, block: number, row: number, tie: number): void {
    offer(this.heap, score, block, row, tie);
  }

  /** The kept candidates, nearest first. No more can be offered. */
  finish(): Candidate[] {
    sortHeap(this.heap);
    return this.read();
  }

  /** As `finish`, of a heap that a kernel sorted. */
  read(): Candidate[] {
    const words = allWords();
    const doubles = allDoubles();
    const kept: Candidate[] = [];
    const size = words[(this.heap + 4) >>> 2];
    for (let i = 0, at = this.heap + headBytes; i < size; i++, at += slotBytes) {
      kept.push({ score: doubles[at >>> 3], block: words[(at + 8) >>> 2], row: words[(at + 12) >>> 2] });
    }
    return kept;
  }

  free(): void {
    free(this.heap);
  }
}
