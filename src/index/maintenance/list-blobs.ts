import type { BlobStore } from "../../storage/blob-store.js";
import { yieldIfDue } from "../../async/event-loop.js";

/** Keys that are listed at a time: on local disk, a second where each is in a folder of its own. */
const pageKeysMax = 2000;
/** Keys that are looked at before it is time to look at the clock. */
const together = 64;

export interface KeyPages {
  /** Only keys after this one. Default: all. */
  readonly after?: string;
  /** Keys of a request, at most 2,000. Default: 2,000. */
  readonly pageKeys?: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * The keys below a prefix, in their order. In pages: no list of storage grows with the number of indexes in it and takes longer than
 * a call may.
 */
export async function* keysInPages(
  store: BlobStore,
  prefix: string,
  { after: start = prefix, pageKeys = pageKeysMax, signal }: KeyPages,
): AsyncGenerator<string> {
  const limit = Math.min(pageKeys, pageKeysMax);
  for (let after = start; ;) {
    const keys = await store.list(prefix, { limit, after, signal });
    for (const [i, key] of keys.entries()) {
      if (i % together === 0) await yieldIfDue();
      yield key;
    }
    after = keys.at(-1) ?? after;
    signal?.throwIfAborted();
    if (keys.length < limit) return;
  }
}
