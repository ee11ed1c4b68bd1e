/** Creating a blob whose acknowledgement may be lost. */

import type { BlobStore } from "../../storage/blob-store.js";
import { holdsBytes } from "../../storage/holds-bytes.js";

/**
 * Whether the blob of this key is now the one with these bytes, which no other writer has. A store that fails, or that
 * repeated the request on its own, does not report which create was first; the blob itself does.
 */
export async function createConfirmed(store: BlobStore, key: string, bytes: Uint8Array): Promise<boolean> {
  try {
    if (await store.create(key, bytes)) return true;
  } catch (error) {
    const won = await holdsBytes(store, key, bytes);
    if (won === null) throw error;
    return won;
  }
  return (await holdsBytes(store, key, bytes)) === true;
}
