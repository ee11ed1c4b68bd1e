/** The part of the cache that one open index uses. */

import type { BlockCache } from "./block-cache.js";
import type { CacheGroup } from "./cache-group.js";

/** Kernels keep epochs as uint32. */
const epochMax = 2 ** 32 - 1;

/** A group, and the object that keeps it open: reachable only while both the index and the owner are. */
interface OwnedGroup {
  readonly group: CacheGroup;
  readonly holder: object;
}

export class IndexCache {
  readonly #cache: BlockCache;
  readonly #groups = new WeakMap<object, OwnedGroup>();
  readonly #epoch = { now: 1 };

  constructor(cache: BlockCache) {
    this.#cache = cache;
  }

  /** Changes with each value of this index that leaves kernel memory: until then, all of them stay at their addresses. */
  get epoch(): number {
    return this.#epoch.now;
  }

  get bytes(): number {
    return this.#cache.bytes;
  }

  get bytesMax(): number {
    return this.#cache.bytesMax;
  }

  /** See `BlockCache.hasRoom`. */
  hasRoom(bytes: number): boolean {
    return this.#cache.hasRoom(bytes);
  }

  get lookups(): number {
    return this.#cache.lookups;
  }

  get misses(): number {
    return this.#cache.misses;
  }

  /** See `BlockCache.tick`. */
  tick(): number {
    return this.#cache.tick();
  }

  /** The group of an owner, one per owner. */
  groupOf(owner: object): CacheGroup {
    const known = this.#groups.get(owner);
    if (known !== undefined) return known.group;
    const epoch = this.#epoch;
    // Not the owner and not this cache: a value that refers to its owner, as a loaded model does to its model, would keep
    // the group of an index that is not used any more.
    const holder = {};
    const group = this.#cache.openGroup(holder, () => {
      epoch.now = (epoch.now % epochMax) + 1;
    });
    this.#groups.set(owner, { group, holder });
    return group;
  }
}
