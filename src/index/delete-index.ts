/** Deletes an index: its record, its keys, and all objects that the storage lists. */

import { groupSecretNames } from "../state/commit/group-secrets.js";
import { manifestName, manifestPrefix } from "../state/commit/object-names.js";
import { objectsOf, OrphanMark } from "./maintenance/orphans.js";
import type { ClientStores } from "./open/client-resources.js";
import type { OpenIndex } from "./open/open-index.js";

/** Throws `forbidden` unless the key is the owner's. Objects that remain are collected a day later. */
export async function deleteIndex(
  index: OpenIndex,
  stores: ClientStores,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { indexId, indexName, store, log, record, keys, namespaces, clock } = index;
  keys.check("owner", indexName);
  signal?.throwIfAborted();
  // Those that the storage lists, and those that it may not list.
  const named = namespaces.objectNamesOf(await log.newest());
  const groups = await groupSecretNames(log.store, indexId);
  const secrets = [...new Set([...named, ...(await namespaces.objectNames()), ...groups])];
  await new OrphanMark(stores, { indexName, indexId }, clock).renew();
  // The record goes first: with it go the name and the keys, whatever happens to the rest.
  await record.deleteAll();
  if (secrets.length > 0) await log.store.delete(secrets);
  const last = await log.commit((latest) => ({ ...latest, dropped: true, segments: [] }));
  // A change of keys that began before may have stored another.
  await record.deleteAll();
  // Its newest manifests stay with the mark for a day and tell other processes that the index was deleted.
  await log.end();
  await store.delete(await objectsOf(store, indexId));
  const floor = manifestName(indexId, last?.history.floor ?? 1);
  const old = await log.store.list(manifestPrefix(indexId), { after: floor });
  await log.store.delete(old.reverse());
}
