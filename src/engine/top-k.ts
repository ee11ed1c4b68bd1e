/**
 * The k nearest of a stream of candidates, in a heap that lies in kernel memory, so that a scan fills it by itself;
 * assembly/heap.ts says how candidates are ordered.
 */

import { kernels } from "./kernels/kernels.js";
import { heapLayout, heapSlotLayout } from "./kernels/kernels.wasm.js";
import { allDoubles, allocate, allWords, doubleAt, free, wordAt, writeWords } from "./kernels/memory.js";

/** A kept candidate: its block's number, its row there, its score. */
export interface Candidate {
  readonly score: number;
  readonly block: number;
  readonly row: number;
}

/** Holds kernel memory: call `free` when done. */
export class TopK {
  /** Where the heap lies that kernels take. */
  readonly heap: number;
  readonly #capacity: number;

  /** Keeps at most `capacity` candidates, 0 or more. */
  constructor(capacity: number) {
    this.#capacity = capacity;
    this.heap = allocate(heapLayout.bytes + heapSlotLayout.bytes * capacity);
    writeWords(this.heap, heapLayout, { capacity, size: 0 });
    allDoubles()[(this.heap + heapLayout.threshold) >>> 3] = capacity === 0 ? -Infinity : Infinity;
  }

  /** No greater score can still enter. Infinity until full, then the worst kept; -Infinity if none fits. */
  get threshold(): number {
    return doubleAt(this.heap + heapLayout.threshold);
  }

  /** Whether as many candidates are kept as fit. */
  get full(): boolean {
    return wordAt(this.heap + heapLayout.size) === this.#capacity;
  }

  /** Offers a candidate; `tie` is where the 16 bytes of its tie key lie. A NaN score is never kept. */
  offer(score: number, block: number, row: number, tie: number): void {
    kernels().offer(this.heap, score, block, row, tie);
  }

  /** The kept candidates, nearest first. No more can be offered. */
  finish(): Candidate[] {
    kernels().sortHeap(this.heap);
    return this.read();
  }

  /** As `finish`, of a heap that a kernel sorted. */
  read(): Candidate[] {
    const words = allWords();
    const doubles = allDoubles();
    const kept: Candidate[] = [];
    const size = wordAt(this.heap + heapLayout.size);
    for (let i = 0, at = this.heap + heapLayout.bytes; i < size; i++, at += heapSlotLayout.bytes) {
      kept.push({
        score: doubles[(at + heapSlotLayout.score) >>> 3],
        block: words[(at + heapSlotLayout.block) >>> 2],
        row: words[(at + heapSlotLayout.row) >>> 2],
      });
    }
    return kept;
  }

  free(): void {
    free(this.heap);
  }
}
