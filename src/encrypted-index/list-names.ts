/** Lists the names of the indexes of a location, of which there may be hundreds of thousands: the event loop goes on meanwhile. */

import { indexNameOf, namesPrefix } from "../commit/object-names.js";
import type { BlobStore } from "../storage/blob-store.js";
import { sortYielding } from "../threads/sort-yielding.js";
import { forEachYielding } from "../threads/yield-to-event-loop.js";

/** In the order of string comparison. */
export async function listNames(configStore: BlobStore, signal: AbortSignal | undefined): Promise<string[]> {
  const keys = await configStore.list(namesPrefix, { signal });
  const names: string[] = [];
  await forEachYielding(keys.length, (i) => {
    const name = indexNameOf(keys[i]);
    // A name may have several records; their keys follow one another.
    if (name !== undefined && name !== names.at(-1)) names.push(name);
  });
  return sortYielding(names);
}
