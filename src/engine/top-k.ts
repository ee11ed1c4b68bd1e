/**
 * The k nearest of a stream of candidates, in a heap in kernel memory, so that kernels fill it; assembly/heap.ts defines the order
 * of candidates.
 */

import { kernels } from "./kernels/kernels.js";
import { heapLayout, heapSlotLayout } from "./kernels/kernels.wasm.js";
import { allDoubles, allocate, allWords, doubleAt, freeScratch } from "./kernels/memory.js";

/** A kept candidate: the number of its block, its row in the block, its score. */
export interface Candidate {
  readonly score: number;
  readonly block: number;
  readonly row: number;
}

/** Bytes of a heap. */
export function heapBytes(capacity: number): number {
  return heapLayout.bytes + heapSlotLayout.bytes * capacity;
}

/** Makes an empty heap at an address, a multiple of 8, that has `heapBytes`. */
export function initHeap(at: number, capacity: number): void {
  const words = allWords();
  words[(at + heapLayout.capacity) >>> 2] = capacity;
  words[(at + heapLayout.size) >>> 2] = 0;
  allDoubles()[(at + heapLayout.threshold) >>> 3] = capacity === 0 ? -Infinity : Infinity;
}

/** The candidates of a heap that a kernel has sorted, nearest first: all of them, or at most `count`. */
export function readHeap(heap: number, count = Infinity): Candidate[] {
  const words = allWords();
  const doubles = allDoubles();
  const kept: Candidate[] = [];
  const size = Math.min(count, words[(heap + heapLayout.size) >>> 2]);
  for (let i = 0, at = heap + heapLayout.bytes; i < size; i++, at += heapSlotLayout.bytes) {
    kept.push({
      score: doubles[(at + heapSlotLayout.score) >>> 3],
      block: words[(at + heapSlotLayout.block) >>> 2],
      row: words[(at + heapSlotLayout.row) >>> 2],
    });
  }
  return kept;
}

/** Holds kernel memory: call `free` when done. */
export class TopK {
  /** The address of the heap. */
  readonly heap: number;

  /** Keeps at most `capacity` candidates, 0 or more. */
  constructor(capacity: number) {
    this.heap = allocate(heapBytes(capacity));
    initHeap(this.heap, capacity);
  }

  /** No greater score can still enter: Infinity until the heap is full, then the worst kept score; -Infinity if it has no capacity. */
  get threshold(): number {
    return doubleAt(this.heap + heapLayout.threshold);
  }

  /** Offers a candidate; `tie` is the address of the 16 bytes of its tie key. A NaN score is never kept. */
  offer(score: number, block: number, row: number, tie: number): void {
    kernels().offer(this.heap, score, block, row, tie);
  }

  /** The kept candidates, nearest first. No more can be offered afterwards. */
  finish(): Candidate[] {
    kernels().sortHeap(this.heap);
    return readHeap(this.heap);
  }

  free(): void {
    freeScratch(this.heap);
  }
}
