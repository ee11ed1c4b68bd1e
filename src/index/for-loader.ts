/** What the request that loaded an index may do, and no other. */

import type { VectorIndex } from "../api/vector-index.js";

export const asLoaded: unique symbol = Symbol.for("sealdex.asLoaded");

interface Loaded {
  [asLoaded](): VectorIndex;
}

/**
 * An index that `loadIndex` resolved to, for the one request that caused that call: its reads take the state that was loaded, or a
 * newer one, and do not look for newer ones again. The list that found that state began after the request, so it has every write
 * that was acknowledged before. A request that came while the index was being loaded must use the index itself.
 */
export function forLoader(index: VectorIndex): VectorIndex {
  return (index as Partial<Loaded>)[asLoaded]?.() ?? index;
}
