/**
 * Decides the outcome of a create that rejected, or may have been sent twice, by reading the blob.
 */

import type { BlobStore, OperationOptions } from "./blob-store.js";

/** Whether the blob is these bytes, or null if there is none. */
export async function holdsBytes(
  store: BlobStore,
  key: string,
  bytes: Uint8Array,
  options?: OperationOptions,
): Promise<boolean | null> {
  // One more byte shows whether the blob is longer.
  const stored = await store.read(key, { offset: 0, length: bytes.length + 1 }, options);
  return stored && Buffer.compare(stored, bytes) === 0;
}
