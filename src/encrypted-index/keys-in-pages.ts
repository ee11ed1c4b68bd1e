import type { BlobStore } from "../storage/blob-store.js";
import { yieldIfDue } from "../threads/yield-to-event-loop.js";

/** Keys that are listed at a time: on local disk, a second where each is in a folder of its own. */
const pageKeys = 2000;
/** Keys that are looked at before it is time to look at the clock. */
const together = 64;

/**
 * The keys below a prefix, without those between one of them and what `next` makes of it. In pages: no list of storage grows with the
 * number of indexes in it and takes longer than a call may.
 */
export async function* keysInPages(
  store: BlobStore,
  prefix: string,
  next: (key: string) => string,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  for (let after = prefix; ;) {
    const keys = await store.list(prefix, { limit: pageKeys, after, signal });
    for (const [i, key] of keys.entries()) {
      if (i % together === 0) await yieldIfDue();
      if (key <= after) continue;
      after = next(key);
      yield key;
    }
    signal?.throwIfAborted();
    if (keys.length < pageKeys) return;
  }
}
