/**
 * Opened blocks and values derived from them, decrypted, under one limit of bytes for all indexes of a client, and one for all clients of
 * the process, since these share the 4 GiB of kernel memory. If the first is exceeded, the least recently used are evicted; if the second,
 * those of the largest cache. Code blocks lie in kernel memory and are scanned there; pages of records, contents and ids lie in the heap.
 *
 * Pinned values are in use and are never evicted, so the values that queries hold at the moment can exceed a limit.
 */

import { totalmem } from "node:os";
import { allocatedBytes } from "../../engine/kernels/memory.js";
import { forEachYielding } from "../../async/event-loop.js";
import type { MemoryUse } from "../../api/vector-index.js";
import { type CacheAccount, CacheGroup, type IdleValue } from "./cache-group.js";

/** The share of a limit that eviction leaves: otherwise every load would evict again. */
const keptShare = 0.9;
/** Of a client, by default. */
const clientBytesMax = 2 * 1024 ** 3;
const memoryShare = 1 / 4;

/** The limit that several caches share, and the bytes they hold. */
export interface SharedLimit {
  readonly bytesMax: number;
  bytes: number;
  /** Those that hold something: so they give back the memory of clients that are dropped without being closed. */
  readonly caches: Set<BlockCache>;
}

/** Of this process. The rest of the 4 GiB of kernel memory is for models that are trained, and for work in progress. */
const processLimit: SharedLimit = { bytesMax: 3 * 1024 ** 3, bytes: 0, caches: new Set() };

/** A quarter of this process's memory: the machine's, or the limit of its container. */
export function cacheBytesDefault(): number {
  // Undefined or beyond the machine's memory if nothing is constrained. Not available before Node 20.12.
  const constrained =
    (process as { constrainedMemory?: () => number | undefined }).constrainedMemory?.() || Infinity;
  return Math.floor(Math.min(clientBytesMax, memoryShare * Math.min(totalmem(), constrained)));
}

export class BlockCache implements CacheAccount {
  readonly bytesMax: number;
  readonly #shared: SharedLimit;
  readonly #groups = new Set<CacheGroup>();
  /** Closes the groups whose holders are unreachable. */
  readonly #holders = new FinalizationRegistry<CacheGroup>((group) => group.close());
  #bytes = 0;
  /** How often values were asked for, all that a query needs of one kind at a time. */
  #uses = 0;
  /** Of these, how often at least one value had to be read from storage. */
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

  memory(): MemoryUse {
    return {
      rssBytes: process.memoryUsage.rss(),
      kernelBytes: allocatedBytes(),
      cacheBytes: this.#bytes,
      cacheBytesMax: this.bytesMax,
      cacheLookups: this.#uses,
      cacheMisses: this.#misses,
    };
  }

  /** Whether this many bytes more fit without evicting anything. */
  hasRoom(bytes: number): boolean {
    const shared = this.#shared;
    return this.#bytes + bytes <= this.bytesMax && shared.bytes + bytes <= shared.bytesMax;
  }

  /** The number of the latest use. */
  get now(): number {
    return this.#uses;
  }

  /** Counts a use, also of values that are not asked for one by one, and returns the number that their `lastUse` should give. */
  tick(): number {
    return ++this.#uses;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    this.#shared.bytes += bytes;
  }

  noteMiss(): void {
    this.#misses++;
  }

  /**
   * A group of values, closed no later than when `holder` is garbage collected, to which neither a value nor `noteRemoval`
   * may refer. `noteRemoval` is called for each value outside the heap that is removed.
   */
  openGroup(holder: object, noteRemoval: () => void): CacheGroup {
    const group = new CacheGroup(this, noteRemoval);
    this.#groups.add(group);
    this.#shared.caches.add(this);
    this.#holders.register(holder, group);
    return group;
  }

  leave(group: CacheGroup): void {
    this.#groups.delete(group);
    if (this.#groups.size === 0) this.#shared.caches.delete(this);
  }

  /** Evicts everything, and clears values in the heap: nothing may be pinned, and no call uses a value any more. */
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

  /** Evicts unused values until the limits hold. */
  settle(): void {
    if (this.#bytes > this.bytesMax) this.#shrinkTo(keptShare * this.bytesMax);
    const { bytesMax, caches } = this.#shared;
    if (this.#shared.bytes <= bytesMax) return;
    for (const cache of [...caches].sort((a, b) => b.#bytes - a.#bytes)) {
      const excess = this.#shared.bytes - keptShare * bytesMax;
      if (excess <= 0) break;
      cache.#shrinkTo(cache.#bytes - excess);
    }
  }

  /** Evicts unpinned values, the least recently used first, until at most `bytesMax` bytes are left. */
  #shrinkTo(bytesMax: number): void {
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
