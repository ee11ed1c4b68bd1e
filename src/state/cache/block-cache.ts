/**
 * Opened blocks and values derived from them, decrypted, under one limit of bytes for all indexes of a client, and one for all clients of the
 * process. If one is exceeded, the least recently used are evicted. Code blocks lie in kernel memory and are scanned there; pages of records,
 * contents and ids lie in the heap.
 *
 * Pinned values are in use and are never evicted, so the values that queries hold at the moment can exceed a limit.
 */

import { forEachYielding } from "../../async/event-loop.js";
import { CacheGroup, type IdleValue } from "./cache-group.js";

export class BlockCache implements LimitedCache {
  readonly bytesMax: number;
  readonly #shared: SharedLimit;
  readonly #groups = new Set<CacheGroup>();
  /** Closes the groups whose holders are unreachable. */
  readonly #holders = new FinalizationRegistry<CacheGroup>((group) => group.close());
  #bytes = 0;
  #uses = 0;
  #misses = 0;
  #isEvicting = false;

  /** `bytesMax`: at most the limit of all caches together. */
  constructor(bytesMax: number, shared = processLimit) {
    this.bytesMax = Math.min(bytesMax, shared.bytesMax);
    this.#shared = shared;
  }

  /** Memory that cached values and their owners hold, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How often values were asked for, all that a query needs of one kind at a time. */
  get lookups(): number {
    return this.#uses;
  }

  /** Lookups that had to read at least one value from storage. */
  get misses(): number {
    return this.#misses;
  }

  /** Whether so many bytes more fit without evicting anything. */
  hasRoom(bytes: number): boolean {
    return this.#bytes + bytes <= this.bytesMax && this.#shared.hasRoom(bytes);
  }

  /** Counts a use of values that are not asked for one by one, and returns the number that their `lastUse` should give. */
  tick(): number {
    return ++this.#uses;
  }

  /**
   * A group of values, closed no later than when `holder` is garbage collected, to which neither a value nor `noteRemoval`
   * may refer. `noteRemoval` is called for each value outside the heap that is removed.
   */
  openGroup(holder: object, noteRemoval: () => void): CacheGroup {
    const now = () => this.#uses;
    const shared = this.#shared;
    const group: CacheGroup = new CacheGroup({
      get now() {
        return now();
      },
      tick: () => this.tick(),
      add: (bytes) => {
        this.#bytes += bytes;
        shared.add(bytes);
      },
      noteMiss: () => {
        this.#misses++;
      },
      noteRemoval,
      settle: () => this.#settle(),
      leave: () => {
        this.#groups.delete(group);
        if (this.#groups.size === 0) shared.leave(this);
      },
    });
    this.#groups.add(group);
    shared.join(this);
    this.#holders.register(holder, group);
    return group;
  }

  /** Evicts everything, and clears values in the heap: nothing may be pinned, and nobody uses a value any more. */
  async close(): Promise<void> {
    await this.clear();
    // Reads in progress do not enter the cache.
    for (const group of this.#groups) group.close();
  }

  /** Evicts unpinned values, and clears those in the heap. */
  async clear(): Promise<void> {
    const idle = this.#idle();
    await forEachYielding(idle.length, (i) => {
      idle[i].plaintext?.fill(0);
      idle[i].evict();
    });
  }

  #settle(): void {
    if (this.#bytes > this.bytesMax) this.shrinkTo(keptShare * this.bytesMax);
    this.#shared.settle();
  }

  shrinkTo(bytesMax: number): void {
    // A value that is removed may unpin others, which settles again.
    if (this.#isEvicting) return;
    this.#isEvicting = true;
    for (let before = Infinity; this.#bytes > bytesMax && this.#bytes < before;) {
      before = this.#bytes;
      const idle = this.#idle();
      idle.sort((a, b) => a.usedAt - b.usedAt);
      for (const { evict } of idle) {
        if (this.#bytes <= bytesMax) break;
        evict();
      }
    }
    this.#isEvicting = false;
  }

  #idle(): IdleValue[] {
    return [...this.#groups].flatMap((group) => group.idle());
  }
}

// A limit of bytes that the caches of all clients of a process share: kernel memory is 4 GiB for all of them, and an allocation beyond
// fails, whichever client makes it.

interface LimitedCache {
  /** Memory that cached values and their owners hold, in bytes. */
  readonly bytes: number;
  /** Evicts unpinned values, the least recently used first, until at most `bytesMax` bytes are left. */
  shrinkTo(bytesMax: number): void;
}

/** The share of a limit that eviction leaves: otherwise every load would evict again. */
const keptShare = 0.9;

export class SharedLimit {
  readonly bytesMax: number;
  readonly #caches = new Set<LimitedCache>();
  #bytes = 0;
  #isSettling = false;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Keeps a cache until it leaves, so that it can give back the memory of clients that are dropped without being closed. */
  join(cache: LimitedCache): void {
    this.#caches.add(cache);
  }

  leave(cache: LimitedCache): void {
    this.#caches.delete(cache);
  }

  /** Notes that one of the caches holds so much more, or less. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Whether so many bytes more fit without evicting anything. */
  hasRoom(bytes: number): boolean {
    return this.#bytes + bytes <= this.bytesMax;
  }

  /** Evicts unused values from the largest caches until the limit holds. */
  settle(): void {
    // Evicting can release further values and re-enter `settle()`.
    if (this.#bytes <= this.bytesMax || this.#isSettling) return;
    this.#isSettling = true;
    for (const cache of [...this.#caches].sort((a, b) => b.bytes - a.bytes)) {
      const excess = this.#bytes - keptShare * this.bytesMax;
      if (excess <= 0) break;
      cache.shrinkTo(cache.bytes - excess);
    }
    this.#isSettling = false;
  }
}

/** Of this process. The rest of the 4 GiB is for models that are trained, and for work in progress. */
const processLimit = new SharedLimit(3 * 1024 ** 3);
