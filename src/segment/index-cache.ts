/** The part of the cache that one open index uses. */

import type { BlockCache } from "./block-cache.js";
import type { CacheGroup } from "./cache-group.js";

/** Kernels keep epochs as uint32. */
const epochMax = 2 ** 32 - 1;

export class IndexCache {
  readonly #cache: BlockCache;
  readonly #groups = new WeakMap<object, CacheGroup>();
  #epoch = 1;

  constructor(cache: BlockCache) {
    this.#cache = cache;
  }

  /** Changes with each value of this index that leaves kernel memory: until then, all of them are where they were. */
  get epoch(): number {
    return this.#epoch;
  }

  get bytes(): number {
    return this.#cache.bytes;
  }

  get bytesMax(): number {
    return this.#cache.bytesMax;
  }

  /** See `BlockCache.tick`. */
  tick(): number {
    return this.#cache.tick();
  }

  /** The group of an owner, one per owner. */
  groupOf(owner: object): CacheGroup {
    const known = this.#groups.get(owner);
    if (known !== undefined) return known;
    const group = this.#cache.openGroup(owner, () => {
      this.#epoch = (this.#epoch % epochMax) + 1;
    });
    this.#groups.set(owner, group);
    return group;
  }
}
