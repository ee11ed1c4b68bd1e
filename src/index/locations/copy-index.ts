/**
 * Copies an index to another place, as backup or to move it.
 *
 * One manifest is copied with everything it names, so the copy is the index at one moment, even if others write to the
 * source meanwhile. Objects come first, then the manifest, and the record, which makes the name, last: an interrupted
 * copy is no index yet, and the next attempt continues it, or garbage collection deletes it a day later (orphans.ts).
 */

import { SealdexError } from "../../errors.js";
import { optionNames, takeOptions } from "../../checks/option-names.js";
import type {
  CallOptions,
  EmbeddedClient,
  EmbeddedClientOptions,
  OpenIndexOptions,
} from "../../api/vector-index.js";
import { copyObjects, type CopyProgress } from "../maintenance/copy-objects.js";
import { deleteMarks, deleteOrphan, OrphanMark } from "../maintenance/orphans.js";
import { openRequest } from "../open/find-index.js";
import { atLocation } from "./with-location-client.js";
import { claimedIndexId, type StoredRecord } from "../open/index-record.js";
import { ManifestLog } from "../../state/commit/manifest-log.js";
import {
  checkIndexName,
  type IndexPlace,
  manifestName,
  manifestPrefix,
  numberOf,
} from "../../state/commit/object-names.js";
import { readObject } from "../../state/commit/read-object.js";
import { foldersOf, type IndexFolders } from "../open/client-resources.js";
import type { OpenIndex } from "../open/open-index.js";
import { listRecords } from "../open/record-access.js";

/** Options of `copyIndex`. */
export interface CopyIndexOptions extends OpenIndexOptions, CallOptions {
  /** Locations, or an embedded client that is already there. */
  readonly from: EmbeddedClient | EmbeddedClientOptions;
  readonly to: EmbeddedClient | EmbeddedClientOptions;
  /** The copy's name. Default: `indexName`. */
  readonly newName?: string;
  /** Called at the beginning of each phase, and after each object. */
  readonly onProgress?: (progress: CopyProgress) => void;
}

const copyOptions = optionNames<CopyIndexOptions>("copyIndex", {
  indexName: true,
  indexKey: true,
  from: true,
  to: true,
  newName: true,
  onProgress: true,
  signal: true,
});

/**
 * Copies an index and verifies the copy, which has the same keys. Another name takes the owner's key, and makes another copy, also
 * within one location. Throws as `loadIndex`; `already_exists` if the name is taken at `to`; `corrupt` or `missing_object` if
 * the source is damaged; `forbidden` for another name without the owner's key; `not_supported` for a collection. After a failure
 * or an interruption, the same call continues the copy.
 */
export async function copyIndex(options: CopyIndexOptions): Promise<void> {
  options = takeOptions(options, copyOptions);
  const { indexName, indexKey, newName = indexName, onProgress, signal } = options;
  checkIndexName(newName);
  const request = openRequest({ indexName, indexKey, signal });
  await atLocation(options.from, "from", signal, (from) =>
    atLocation(options.to, "to", signal, async ({ stores, clock }) => {
      const index = await from.open(request, false);
      const place = { indexName: newName, indexId: index.indexId };
      const target = { place, stores, folders: foldersOf(stores, newName) };
      const only = await checkPlace(index, target);
      signal?.throwIfAborted();
      const mark = new OrphanMark(stores, place, clock);
      await mark.renew();
      let record: StoredRecord | null;
      do {
        const manifest = await copyObjects(index, target.folders, { onProgress, signal, only, mark });
        await checkNewest(index, target, manifest.version);
        signal?.throwIfAborted();
        // Read last, it has the keys of the manifest that was copied, unless they were changed meanwhile.
        record = await index.record.forName(newName, manifest);
      } while (record === null);
      // Another copy, or an attempt whose outcome was lost, may have been first.
      if (!(await stores.configStore.create(record.name, record.bytes))) await checkPlace(index, target);
      await deleteMarks(stores, place);
    }),
  );
}

/** Where a copy goes. */
interface Target {
  readonly place: IndexPlace;
  readonly stores: IndexFolders;
  readonly folders: IndexFolders;
}

/**
 * Throws `already_exists` unless the name is free, or is this index's. Gives the version of the copy that exists, complete, or
 * undefined.
 */
async function checkPlace(index: OpenIndex, { place, stores, folders }: Target): Promise<number | undefined> {
  const { configStore } = stores;
  const newName = place.indexName;
  const names = await listRecords(configStore, newName);
  const [newest] = await folders.configStore.list(manifestPrefix(index.indexId), { limit: 1 });
  const records = await Promise.all(names.map((name) => readObject(configStore, "record", name)));
  const isThis = (record: Uint8Array | null) => {
    const id = record === null ? undefined : claimedIndexId(record);
    return id !== undefined && Buffer.compare(id, index.indexId) === 0;
  };
  if (!records.every(isThis)) {
    throw new SealdexError(
      "already_exists",
      `index "${newName}": it already exists at the target of the copy`,
    );
  }
  if (newest === undefined) return undefined;
  if (names.length > 0) return numberOf(newest);
  // The index was there before and was deleted: its last manifests, which say so, have had their time.
  const renewKeys = (generation: number) => index.record.renew(generation);
  const identity = { indexName: newName, indexId: index.indexId, keys: index.keys, renewKeys };
  const log = new ManifestLog(folders.configStore, identity, index.clock);
  const manifest = await log.manifestAt(numberOf(newest));
  if (manifest?.dropped) await deleteOrphan(stores, place);
  return undefined;
}

/** Throws `already_exists` if the target has a later state of the index than the copied one. */
async function checkNewest(index: OpenIndex, { folders }: Target, version: number): Promise<void> {
  const [newest] = await folders.configStore.list(manifestPrefix(index.indexId), { limit: 1 });
  if (newest === manifestName(index.indexId, version)) return;
  throw new SealdexError(
    "already_exists",
    `index "${index.indexName}": the target of the copy has another state of it`,
  );
}
