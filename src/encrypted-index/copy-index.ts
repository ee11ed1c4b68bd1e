/**
 * Copies an index to another place, as backup or to move it.
 *
 * One manifest is copied with everything it names, so the copy is the index as of one moment, even if others write to the
 * source meanwhile. Objects come first, then the manifest, and the record, which makes the name, last: an interrupted
 * copy is no index yet, and the next attempt continues it.
 */

import { SealdexError } from "../errors.js";
import { checkOptions, optionNames } from "../option-names.js";
import type {
  CallOptions,
  EmbeddedClient,
  EmbeddedClientOptions,
  OpenIndexOptions,
} from "../vector-index.js";
import { copyObjects, type CopyProgress } from "./copy-objects.js";
import { deleteOrphan } from "./orphans.js";
import { atLocation } from "./at-location.js";
import { claimedIndexId } from "./index-record.js";
import { ManifestLog } from "../commit/manifest-log.js";
import {
  checkIndexName,
  indexNameOf,
  manifestName,
  manifestPrefix,
  namesPrefix,
  numberOf,
} from "../commit/object-names.js";
import type { OpenIndex, ClientStores } from "./open-index.js";

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
 * Copies an index and verifies the copy, which has the same keys. Another name takes the owner's key. Throws as `loadIndex`;
 * `already_exists` if the name is taken at `to`, or if `to` has the index under another name; `corrupt` or `missing_object` if
 * the source is damaged; `forbidden` for another name without the owner's key. After a failure or an interruption, the same
 * call continues the copy.
 */
export async function copyIndex(options: CopyIndexOptions): Promise<void> {
  checkOptions(options, copyOptions);
  const { indexName, indexKey, newName = indexName, onProgress, signal } = options;
  checkIndexName(newName);
  await atLocation(options.from, "from", signal, (from) =>
    atLocation(options.to, "to", signal, async (to) => {
      const index = await from.open({ indexName, indexKey });
      const only = await checkPlace(index, to.stores, newName);
      const manifest = await copyObjects(index, from.stores, to.stores, { onProgress, signal, only });
      await checkNewest(index, to.stores, manifest.version);
      signal?.throwIfAborted();
      // Read last, it has the keys of the manifest that was copied.
      const record = await index.record.forName(newName);
      if (await to.stores.configStore.create(record.name, record.bytes)) return;
      // Another copy, or an attempt whose outcome was lost, was first.
      await checkPlace(index, to.stores, newName);
    }),
  );
}

/**
 * Throws `already_exists` unless the name is free, or is this index's, and no other name is. Gives the version of the
 * copy that exists, complete, or undefined.
 */
async function checkPlace(
  index: OpenIndex,
  { indexStore, configStore }: ClientStores,
  newName: string,
): Promise<number | undefined> {
  const listed = await configStore.list(namesPrefix);
  const keys = listed.filter((key) => indexNameOf(key) !== undefined);
  const named = keys.filter((key) => indexNameOf(key) === newName);
  const [newest] = await configStore.list(manifestPrefix(index.indexId), { limit: 1 });
  // Only a place that has something of the index can have it under another name.
  const claims = await Promise.all(
    (newest === undefined ? named : keys).map(async (key) => {
      const record = await configStore.read(key);
      const id = record === null ? undefined : claimedIndexId(record);
      return { name: indexNameOf(key), isThis: id !== undefined && Buffer.compare(id, index.indexId) === 0 };
    }),
  );
  for (const { name, isThis } of claims) {
    if (name === newName && !isThis) {
      throw new SealdexError(
        "already_exists",
        `index "${newName}": the name is taken at the target of the copy`,
      );
    }
    if (name !== newName && isThis) {
      throw new SealdexError(
        "already_exists",
        `index "${newName}": it already exists there, named "${name}"`,
      );
    }
  }
  if (newest === undefined) return undefined;
  if (named.length > 0) return numberOf(newest);
  // The index was there before and was deleted: its last manifests, which say so, have had their time.
  const renewKeys = () => index.record.renew();
  const identity = { indexName: newName, indexId: index.indexId, keys: index.keys, renewKeys };
  const log = new ManifestLog(configStore, identity, index.clock);
  const { manifest } = await log.newestSealed();
  if (manifest.dropped) await deleteOrphan(indexStore, configStore, index.indexId);
  return undefined;
}

/** Throws `already_exists` if the target has a later state of the index than what was copied. */
async function checkNewest(index: OpenIndex, { configStore }: ClientStores, version: number): Promise<void> {
  const [newest] = await configStore.list(manifestPrefix(index.indexId), { limit: 1 });
  if (newest === manifestName(index.indexId, version)) return;
  throw new SealdexError(
    "already_exists",
    `index "${index.indexName}": the target of the copy has another state of it`,
  );
}
