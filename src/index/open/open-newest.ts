/**
 * Opens the newest state of an index by the objects listed below its name while its record was read. Of a small index, the objects are
 * read at the same time as the manifest that names them.
 */

import { type Clock, instant } from "../../state/commit/clock.js";
import { openFolder } from "../../state/commit/index-folder.js";
import { type Manifest, objectRefs } from "../../state/commit/manifest.js";
import type { ListedObjects } from "../../state/commit/manifest-reader.js";
import { indexesPrefix, indexObjectKinds, objectPrefix } from "../../state/commit/object-names.js";
import type { BlobStore } from "../../storage/blob-store.js";
import type { IndexFolders, OpenIndex } from "./open-index.js";

/** Objects that are listed in each location. */
const listedMax = 100;
/** Objects that are read early: an index with more takes longer in any case. */
const earlyMax = 4;

export interface ListedIndex {
  /** Of the configuration location. */
  readonly manifests: ListedObjects;
  /** Names of all objects of the index location; undefined if there are more than are listed. */
  readonly objects: readonly string[] | undefined;
}

/** Lists the first objects of the indexes that have had this name. */
export async function listIndex(
  { indexStore, configStore }: IndexFolders,
  indexName: string,
  clock: Clock,
): Promise<ListedIndex> {
  const at = instant(clock);
  const list = (store: BlobStore) => openFolder(store, indexName).list(indexesPrefix, { limit: listedMax });
  const [names, others] = await Promise.all([
    list(configStore),
    // Opening needs no list of this location.
    indexStore === configStore ? undefined : list(indexStore).catch(() => undefined),
  ]);
  const objects = indexStore === configStore ? names : others;
  const isWhole = objects !== undefined && objects.length < listedMax;
  return { manifests: { names, at }, objects: isWhole ? objects : undefined };
}

/** The newest manifest of an index, whose objects are opened if they are few and small. */
export async function openListed(index: OpenIndex, { manifests, objects }: ListedIndex): Promise<Manifest> {
  const { early, log, snapshots } = index;
  early.begin(earlyNames(index, objects ?? []));
  try {
    const manifest = await log.newestListed(manifests);
    const needed = objectRefs(manifest);
    const isPlain = manifest.segments.every(({ namespace }) => namespace === undefined);
    // The first call that reads them reports their faults.
    if (isPlain && needed.length > 0 && (await early.hasAll(needed)))
      await snapshots.prepare(manifest).catch(() => undefined);
    return manifest;
  } finally {
    early.end();
  }
}

/** Segments and models of the index, unless they are many. */
function earlyNames({ indexId }: OpenIndex, objects: readonly string[]): readonly string[] {
  const prefixes = indexObjectKinds.map((kind) => objectPrefix(indexId, kind));
  const names = objects.filter((name) => prefixes.some((prefix) => name.startsWith(prefix)));
  return names.length <= earlyMax ? names : [];
}
