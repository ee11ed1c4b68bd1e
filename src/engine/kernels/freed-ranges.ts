/**
 * Clears freed ranges before they are used again, since stored data, queries or what was made of them lay in them: at once as far as
 * a turn of the event loop has time, the rest in the turns that follow.
 */

import { type Allocator, notAllocated } from "./allocator.js";
import { timers } from "../../real-timers.js";

/** Cleared in one turn: takes about a millisecond. */
const turnBytes = 2 ** 23;
/** Of ranges that never wait, such as the memory of a query: a loop of queries may take no turn at all. */
const atOnceBytes = 2 ** 16;

interface WaitingRange {
  readonly bytes: number;
  /** How many of them, from the first on, are not cleared yet. */
  left: number;
}

export class FreedRanges {
  readonly #allocator: Allocator;
  readonly #clear: (offset: number, bytes: number) => void;
  /** By their offset. They are allocated until they are cleared. */
  readonly #waiting = new Map<number, WaitingRange>();
  #waitingBytes = 0;
  /** Of larger ranges, at once, since some last waited for a turn. */
  #clearedBytes = 0;

  constructor(allocator: Allocator, clear: (offset: number, bytes: number) => void) {
    this.#allocator = allocator;
    this.#clear = clear;
  }

  /** Of the ranges that are not all cleared yet. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Frees a range, at once or when it is cleared. Throws `internal` unless it is allocated, and was not freed. */
  add(offset: number): void {
    const bytes = this.#allocator.bytesOf(offset);
    if (bytes > atOnceBytes && this.#waiting.has(offset)) throw notAllocated(offset);
    if (bytes <= atOnceBytes || this.#clearedBytes + bytes <= turnBytes) {
      if (bytes > atOnceBytes) this.#clearedBytes += bytes;
      this.#clear(offset, bytes);
      this.#allocator.free(offset);
      return;
    }
    if (this.#waiting.size === 0) timers.setImmediate(() => this.#clearSome());
    this.#waiting.set(offset, { bytes, left: bytes });
    this.#waitingBytes += bytes;
  }

  /** Clears ranges now until `bytes` can be allocated, or none waits. */
  makeRoom(bytes: number): void {
    if (this.#allocator.hasRoom(bytes)) return;
    for (const [offset, range] of this.#waiting) {
      this.#clearUpTo(range.left, offset, range);
      if (this.#allocator.hasRoom(bytes)) return;
    }
  }

  /** What a turn has time for. */
  #clearSome(): void {
    let bytes = turnBytes;
    for (const [offset, range] of this.#waiting) {
      bytes -= this.#clearUpTo(bytes, offset, range);
      if (bytes === 0) break;
    }
    this.#clearedBytes = 0;
    if (this.#waiting.size > 0) timers.setImmediate(() => this.#clearSome());
  }

  /** Clears `bytesMax` of a range, or what is left of it, from its end, and then frees it. Returns how many. */
  #clearUpTo(bytesMax: number, offset: number, range: WaitingRange): number {
    const bytes = Math.min(bytesMax, range.left);
    range.left -= bytes;
    this.#clear(offset + range.left, bytes);
    if (range.left > 0) return bytes;
    this.#waiting.delete(offset);
    this.#waitingBytes -= range.bytes;
    this.#allocator.free(offset);
    return bytes;
  }
}
