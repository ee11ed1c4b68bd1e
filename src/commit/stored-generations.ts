/** Under which keys the stored manifests of an index are sealed, as their headers say, which are not authenticated. */

import { generationOf } from "../crypto/sealed-object.js";
import type { BlobStore } from "../storage/blob-store.js";
import { isNumbered, manifestPrefix } from "./object-names.js";

/** As much of an object as says under which key it was sealed. */
const headerStart = { offset: 0, length: 12 };

/** Of the oldest and of the newest manifest; undefined for one that is gone. `store`: where the manifests are. */
export async function storedGenerations(
  store: BlobStore,
  indexId: Uint8Array,
): Promise<{ readonly oldest: number | undefined; readonly newest: number | undefined }> {
  const prefix = manifestPrefix(indexId);
  const names = (await store.list(prefix)).filter((name) => isNumbered(name, prefix));
  const ends = names.length === 0 ? [] : [names[names.length - 1], names[0]];
  const headers = await Promise.all(ends.map((name) => store.read(name, headerStart)));
  const [oldest, newest] = headers.map((header) => (header === null ? undefined : generationOf(header)));
  return { oldest, newest };
}
