/** The memory that searches take. */

import { allocatedBytes } from "../engine/kernels/memory.js";
import type { BlockCache } from "../segment/block-cache.js";
import type { MemoryUse } from "../vector-index.js";

/** `cache`: of the blocks that a client has opened. */
export function memoryUse(cache: Pick<BlockCache, "bytes" | "bytesMax" | "lookups" | "misses">): MemoryUse {
  return {
    rssBytes: process.memoryUsage.rss(),
    kernelBytes: allocatedBytes(),
    cacheBytes: cache.bytes,
    cacheBytesMax: cache.bytesMax,
    cacheLookups: cache.lookups,
    cacheMisses: cache.misses,
  };
}
