/**
 * Where the objects of an index lie. They are named `index/<id>/…`, in manifests and in what seals them, whatever the index
 * is called; their keys are `index/<index name>/<id>/…`, so that a process that knows no more than the name can list them while
 * it reads the record, which has the id.
 */

import { withAbsenceCheckOf } from "../storage/absence.js";
import type { BlobStore } from "../storage/blob-store.js";
import { folderPrefix, indexesPrefix } from "./object-names.js";

/** What `store` has of the indexes that have had this name: takes and gives names of objects in place of keys. */
export function openFolder(store: BlobStore, indexName: string): BlobStore {
  const folder = folderPrefix(indexName);
  const keyOf = (name: string) => folder + name.slice(indexesPrefix.length);
  const inFolder: BlobStore = {
    read: (name, range, options) => store.read(keyOf(name), range, options),
    create: (name, bytes, options) => store.create(keyOf(name), bytes, options),
    async list(prefix, { after, ...options } = {}) {
      const keys = await store.list(keyOf(prefix), {
        ...options,
        ...(after !== undefined && { after: keyOf(after) }),
      });
      return keys.map((key) => indexesPrefix + key.slice(folder.length));
    },
    delete: (names, options) => store.delete(names.map(keyOf), options),
    close: () => store.close(),
  };
  return withAbsenceCheckOf(inFolder, store, keyOf);
}
