/** Creates, opens and deletes collections. */

import { type KeyObject, randomBytes } from "node:crypto";
import type { CreateIndexOptions } from "../../api/vector-index.js";
import { checkInteger } from "../../checks/input.js";
import { own } from "../../checks/value-kinds.js";
import { deriveShardKey, keyBytes, secretKey } from "../../crypto/keys.js";
import type { Embedder } from "../../embedding/embedder.js";
import { shardsMax } from "../../engine/config.js";
import { SealdexError } from "../../errors.js";
import { IndexCache } from "../../state/cache/index-cache.js";
import type { CollectionMembers, ShardRef } from "../../state/commit/manifest.js";
import { shardName } from "../../state/commit/object-names.js";
import { type CreateRequest, definitionOf, storeIndex } from "../create-index.js";
import { deleteIndex } from "../delete-index.js";
import { deleteMarks, OrphanMark } from "../maintenance/orphans.js";
import type { ClientResources, ClientStores } from "../open/client-resources.js";
import { NamespaceScopes } from "../open/namespace-scopes.js";
import type { OpenIndex } from "../open/open-index.js";
import type { IndexDefinition } from "../open/stored-definition.js";
import { combinedObjects, forEach, Shards, shardsOf, spareShardsOf } from "./shards.js";

/** A collection as an index that reads all of its shards, and the shards themselves. */
export interface OpenCollection {
  readonly index: OpenIndex;
  readonly shards: Shards;
}

/** Throws as `createIndex`. After a failure, shards that were created are deleted, if there is certainly no collection that has them. */
export async function createCollection(
  { options, source }: CreateRequest,
  count: number,
  embedder: Embedder | undefined,
  stores: ClientStores,
  resources: ClientResources,
): Promise<OpenCollection> {
  checkInteger(count, 1, shardsMax, "shards");
  checkReadable(resources);
  const definition = await definitionOf(options, embedder);
  const created: OpenIndex[] = [];
  let mayExist = false;
  const { indexName } = options;
  const members = async (collectionId: Uint8Array): Promise<CollectionMembers> => {
    await new OrphanMark(stores, { indexName, indexId: collectionId }, resources.clock).renew();
    const secret = secretKey(randomBytes(keyBytes));
    const create = async (from: number): Promise<ShardRef> => {
      const request = { collectionId, secret, named: own({ from }), definition, signal: options.signal };
      const shard = await createShard(request, stores, resources);
      created.push(shard);
      return stateOf(shard, request.named);
    };
    const beginnings = Array.from({ length: count }, (_, i) => Math.floor((2 ** 32 * i) / count));
    const shards = await forEach(beginnings, create);
    mayExist = true;
    return { shards, shardSecrets: [secret] };
  };
  try {
    const head = await storeIndex({ ...options, source, definition, members }, stores, resources);
    // A sweep deletes marks that stay.
    await deleteMarks(stores, head).catch(() => undefined);
    return collectionOf(head, stores, resources);
  } catch (error) {
    // Else a sweep deletes them, once it has found no record.
    if (!mayExist || isTakenError(error)) {
      await Promise.allSettled(created.map((shard) => deleteIndex(shard, stores, undefined)));
    }
    throw error;
  }
}

function isTakenError(error: unknown): boolean {
  return error instanceof SealdexError && error.code === "already_exists";
}

interface NewShard extends Pick<CreateIndexOptions, "signal"> {
  readonly collectionId: Uint8Array;
  /** Of the collection: the key of the shard is derived from it. */
  readonly secret: KeyObject;
  readonly named: Pick<ShardRef, "from" | "suffix">;
  readonly definition: IndexDefinition;
}

/** An empty shard, which no collection names yet. */
export function createShard(
  { collectionId, secret, named, definition, signal }: NewShard,
  stores: ClientStores,
  resources: ClientResources,
): Promise<OpenIndex> {
  const source = deriveShardKey(secret, collectionId, named.from);
  const indexName = shardName(collectionId, named);
  return storeIndex(
    { indexName, signal, source, definition, members: undefined },
    { ...stores, anchorStore: undefined },
    resources,
  );
}

/** The newest state of a shard. */
export async function stateOf(
  { indexId, log }: OpenIndex,
  named: Pick<ShardRef, "from" | "suffix">,
): Promise<ShardRef> {
  const { manifest, digest } = await log.newestSealed();
  return own({ ...named, indexId: Buffer.from(indexId).toString("hex"), version: manifest.version, digest });
}

/** Deletes an index, or a collection. Its shards come first: until all are deleted, the same call continues. */
export async function deleteWithShards(
  index: OpenIndex,
  stores: ClientStores,
  resources: ClientResources,
  signal: AbortSignal | undefined,
): Promise<void> {
  if ((await index.log.newest()).shards === undefined) return deleteIndex(index, stores, signal);
  const { shards } = collectionOf(index, stores, resources);
  index.keys.check("owner", index.indexName);
  const deleted = new Set<string>();
  for (;;) {
    const newest = await index.log.newest();
    const all = [...shardsOf(newest), ...spareShardsOf(newest)];
    const left = all.filter(({ indexId }) => !deleted.has(indexId));
    if (left.length === 0) break;
    await forEach(left, async (ref) => {
      signal?.throwIfAborted();
      await shards.delete(ref, signal);
      deleted.add(ref.indexId);
    });
  }
  await deleteIndex(index, stores, undefined);
}

/** Which shard has an item would show. */
function checkReadable({ oblivious }: ClientResources): void {
  if (oblivious)
    throw new SealdexError("not_supported", "oblivious: a collection shows which shards are read");
}

/** Throws `not_supported` with `oblivious`. */
export function collectionOf(
  head: OpenIndex,
  stores: ClientStores,
  resources: ClientResources,
): OpenCollection {
  checkReadable(resources);
  const { log, namespaces, config, clock } = head;
  const { maxStalenessMs, oblivious } = resources;
  const shards = new Shards(head, stores, resources);
  const cache = new IndexCache(resources.cache);
  const { searchShards } = resources;
  const objectsOf = (namespace: string | undefined) =>
    combinedObjects(shards, namespace, cache, searchShards);
  const scopes = new NamespaceScopes({
    log,
    objectsOf,
    namespaces,
    config,
    cache,
    clock,
    maxStalenessMs,
    oblivious,
  });
  // To compare the recall of queries, their searches have to be made here.
  const samples = searchShards === undefined ? head.samples : undefined;
  return { index: { ...head, samples, scopes, ...scopes.whole }, shards };
}
