/**
 * Allocates ranges of one growing address space of at most 4 GiB: best fit, the lowest address among equals; adjacent free ranges
 * are joined. Handles numbers only, no memory.
 *
 * Boundary tags (Knuth, The Art of Computer Programming, 2.5) have an array of their own, 1/64 of the space; free ranges are also
 * in one sorted array with binary search. A Map is slower: V8 keeps deleted entries in their chain, so that freeing and allocating
 * one offset repeatedly took 20 microseconds.
 */

import { timers } from "../../async/timers.js";
import { SealdexError } from "../../errors.js";

/** Every range starts at a multiple of this many bytes, and takes a multiple of it. */
export const alignment = 256;

// Sizes and starts are counted in units of `alignment`. There are at most 2^24, so both fit one double.
const unitsMax = 2 ** 24;

export class Allocator {
  readonly #grow: (bytesMin: number) => number;
  /** Per unit: the size at the start of a used range; the negated size at both ends of a free range; else 0. */
  #tags: Int32Array;
  /** size * unitsMax + start of each free range, ascending; the first `#freeCount` elements are in use. */
  #free = new Float64Array(64);
  #freeCount = 0;
  #used = 0;

  /**
   * The space from byte `start` to byte `end`, multiples of 256. `grow` makes it at least `bytesMin` longer
   * and returns its new end, or throws.
   */
  constructor(start: number, end: number, grow: (bytesMin: number) => number) {
    this.#grow = grow;
    this.#tags = new Int32Array(end / alignment);
    this.#addFree(start / alignment, (end - start) / alignment);
  }

  /** Bytes in use, each range rounded up to 256. */
  get allocatedBytes(): number {
    return this.#used * alignment;
  }

  /** Whether a range of `bytes` can be allocated without growing. */
  hasRoom(bytes: number): boolean {
    return this.#position(sizeOf(bytes) * unitsMax) < this.#freeCount;
  }

  /** Bytes of a range, a multiple of 256. Throws `internal` unless `offset` was returned by `allocate` and has not been freed since. */
  bytesOf(offset: number): number {
    const size = this.#tags[offset / alignment];
    if (!(size > 0)) throw notAllocated(offset);
    return size * alignment;
  }

  /** The offset of a new range. If `grow` throws, its error is passed on and nothing has changed. */
  allocate(bytes: number): number {
    const size = sizeOf(bytes);
    let best = this.#position(size * unitsMax);
    if (best === this.#freeCount) {
      this.#extend(size);
      best = this.#position(size * unitsMax);
    }
    const freeSize = Math.floor(this.#free[best] / unitsMax);
    const start = this.#free[best] % unitsMax;
    this.#removeFree(start, freeSize);
    if (freeSize > size) this.#addFree(start + size, freeSize - size);
    this.#tags[start] = size;
    this.#used += size;
    return start * alignment;
  }

  /** Frees a range. Throws as `bytesOf` does. */
  free(offset: number): void {
    let size = this.bytesOf(offset) / alignment;
    let start = offset / alignment;
    this.#tags[start] = 0;
    this.#used -= size;
    const after = -this.#tags[start + size];
    if (after > 0) {
      this.#removeFree(start + size, after);
      size += after;
    }
    const before = -this.#tags[start - 1];
    if (before > 0) {
      start -= before;
      this.#removeFree(start, before);
      size += before;
    }
    this.#addFree(start, size);
  }

  /** Grows the space until a range of `size` fits at its end. */
  #extend(size: number): void {
    const end = this.#tags.length;
    const tail = Math.max(0, -this.#tags[end - 1]);
    const newEnd = this.#grow((size - tail) * alignment) / alignment;
    const tags = new Int32Array(newEnd);
    tags.set(this.#tags);
    this.#tags = tags;
    if (tail > 0) this.#removeFree(end - tail, tail);
    this.#addFree(end - tail, newEnd - end + tail);
  }

  #addFree(start: number, size: number): void {
    this.#tags[start] = -size;
    this.#tags[start + size - 1] = -size;
    if (this.#freeCount === this.#free.length) {
      const longer = new Float64Array(2 * this.#freeCount);
      longer.set(this.#free);
      this.#free = longer;
    }
    const key = size * unitsMax + start;
    const position = this.#position(key);
    this.#free.copyWithin(position + 1, position, this.#freeCount++);
    this.#free[position] = key;
  }

  #removeFree(start: number, size: number): void {
    this.#tags[start] = 0;
    this.#tags[start + size - 1] = 0;
    const position = this.#position(size * unitsMax + start);
    this.#free.copyWithin(position, position + 1, this.#freeCount--);
  }

  /** Position of the first free range that is at least `key`. */
  #position(key: number): number {
    let low = 0;
    let high = this.#freeCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#free[middle] < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function sizeOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / alignment));
}

function notAllocated(offset: number): SealdexError {
  return new SealdexError("internal", `kernel memory: expected an allocated offset to free, got ${offset}`);
}

// Clears freed ranges before they are used again, since they held stored data, queries or values computed from them: at once as far as
// a turn of the event loop has time, the rest in the turns that follow.

/** Cleared in one turn: takes about a millisecond. */
const turnBytes = 2 ** 23;
/** Of ranges that never wait, such as the memory of a query: a loop of queries may take no turn at all. */
const atOnceBytes = 2 ** 16;
/** Of ranges that wait, beyond which no more may be kept: see `hold`. */
const heldBytesMax = 2 ** 26;

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
  /** Whether the next turn clears. */
  #isDue = false;
  /** How many holds have not ended. */
  #holders = 0;

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
    if (this.#waiting.has(offset)) throw notAllocated(offset);
    if (this.#holders === 0 && (bytes <= atOnceBytes || this.#clearedBytes + bytes <= turnBytes)) {
      if (bytes > atOnceBytes) this.#clearedBytes += bytes;
      this.#clear(offset, bytes);
      this.#allocator.free(offset);
      return;
    }
    this.#waiting.set(offset, { bytes, left: bytes });
    this.#waitingBytes += bytes;
    this.#clearSoon();
  }

  /**
   * Keeps ranges that are freed as they are, until the result is called. Undefined if too much memory waits already: holders that overlap
   * for ever would keep all of it.
   */
  hold(): (() => void) | undefined {
    if (this.#waitingBytes > heldBytesMax) return undefined;
    this.#holders++;
    return () => {
      this.#holders--;
      this.#clearSoon();
    };
  }

  #clearSoon(): void {
    if (this.#isDue || this.#holders > 0 || this.#waiting.size === 0) return;
    this.#isDue = true;
    timers.setImmediate(() => this.#clearSome());
  }

  /** Clears ranges now until `bytes` can be allocated, or none waits. */
  makeRoom(bytes: number): void {
    if (this.#holders > 0 || this.#allocator.hasRoom(bytes)) return;
    for (const [offset, range] of this.#waiting) {
      this.#clearUpTo(range.left, offset, range);
      if (this.#allocator.hasRoom(bytes)) return;
    }
  }

  /** As many bytes as one turn clears. */
  #clearSome(): void {
    this.#isDue = false;
    if (this.#holders > 0) return;
    let bytes = turnBytes;
    for (const [offset, range] of this.#waiting) {
      bytes -= this.#clearUpTo(bytes, offset, range);
      if (bytes === 0) break;
    }
    this.#clearedBytes = 0;
    this.#clearSoon();
  }

  /** Clears `bytesMax` of a range, or the rest of it, from its end, and then frees it. Returns how many. */
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
