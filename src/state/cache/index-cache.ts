/** The part of the cache that one open index uses. */

import type { BlockCache } from "./block-cache.js";
import type { CacheGroup } from "./cache-group.js";

/** Kernels keep epochs as uint32; the last one is that of searches which are to find nothing in memory. */
const epochMax = 2 ** 32 - 2;

/** A group, and the object that keeps it open: reachable only while both the index and the owner are. */
interface OwnedGroup {
  readonly group: CacheGroup;
  readonly holder: object;
}

export class IndexCache {
  /** The cache that it is a part of. */
  readonly blocks: BlockCache;
  readonly #groups = new WeakMap<object, OwnedGroup>();
  readonly #epoch = { now: 1 };

  constructor(blocks: BlockCache) {
    this.blocks = blocks;
  }

  /** Changes with each value of this index that leaves kernel memory: until then, all of them stay at their addresses. */
  get epoch(): number {
    return this.#epoch.now;
  }

  /** The group of an owner, one per owner. */
  groupOf(owner: object): CacheGroup {
    const known = this.#groups.get(owner);
    if (known !== undefined) return known.group;
    const epoch = this.#epoch;
    // Not the owner and not this cache: a value that refers to its owner, as a loaded model does to its model, would keep
    // the group of an index that is not used any more.
    const holder = {};
    const group = this.blocks.openGroup(holder, () => {
      epoch.now = (epoch.now % epochMax) + 1;
    });
    this.#groups.set(owner, { group, holder });
    return group;
  }
}
