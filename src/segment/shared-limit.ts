/**
 * A limit of bytes that the caches of all clients of a process share: kernel memory is 4 GiB for all of them, and an allocation beyond
 * fails, whichever client makes it.
 */

export interface LimitedCache {
  /** Memory that cached values and their owners hold, in bytes. */
  readonly bytes: number;
  /** Evicts what is not pinned, the least recently used first, until no more than so many bytes are left. */
  shrinkTo(bytesMax: number): void;
}

/** What eviction leaves, as a share of a limit: otherwise every load would evict again. */
export const keptShare = 0.9;

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

  /** Evicts from the largest caches what is beyond the limit, as far as it is not in use. */
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
export const processLimit = new SharedLimit(3 * 1024 ** 3);
