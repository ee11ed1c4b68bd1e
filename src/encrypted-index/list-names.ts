/** Lists the names of the indexes of a location, of which there may be hundreds of thousands: the event loop goes on meanwhile. */

import { indexNameOf, namesPrefix } from "../commit/object-names.js";
import type { BlobStore } from "../storage/blob-store.js";
import { sortYielding } from "../threads/sort-yielding.js";
import { keysInPages } from "./keys-in-pages.js";

/** In the order of string comparison. */
export async function listNames(configStore: BlobStore, signal: AbortSignal | undefined): Promise<string[]> {
  const names: string[] = [];
  for await (const key of keysInPages(configStore, namesPrefix, (last) => last, signal)) {
    const name = indexNameOf(key);
    // A name may have several records; their keys follow one another.
    if (name !== undefined && name !== names.at(-1)) names.push(name);
  }
  return sortYielding(names);
}
