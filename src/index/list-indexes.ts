/** The names of the indexes in a location. */

import { afterRecords, indexNameOf, namesPrefix } from "../state/commit/object-names.js";
import type { ListIndexesOptions } from "../api/vector-index.js";
import type { BlobStore } from "../storage/blob-store.js";
import { keysInPages } from "./maintenance/list-blobs.js";

/** In the order of code points. */
export async function listNames(
  configStore: BlobStore,
  { limit = Infinity, after = "", signal }: ListIndexesOptions,
): Promise<string[]> {
  const names: string[] = [];
  if (limit === 0) return names;
  const pages = { after: afterRecords(after), pageKeys: limit, signal };
  for await (const key of keysInPages(configStore, namesPrefix, pages)) {
    const name = indexNameOf(key);
    // A name may have several records; their keys follow one another.
    if (name === undefined || name === names.at(-1)) continue;
    names.push(name);
    if (names.length === limit) break;
  }
  return names;
}
