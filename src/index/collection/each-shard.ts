/** Work on all shards of a collection that changes no item, and on its keys. */

import { randomBytes } from "node:crypto";
import type { ErasureReceipt, IndexDescription, TrainOptions } from "../../api/vector-index.js";
import { deriveShardKey, keyBytes, secretKey } from "../../crypto/keys.js";
import type { KeySource } from "../../keys/key-provider.js";
import { CombinedSnapshot } from "../../query/combined-snapshot.js";
import { prefetch } from "../../query/prefetch.js";
import { compactAndCollect } from "../maintenance/gc.js";
import { reencrypt } from "../maintenance/reencrypt.js";
import { erase, receiptOf } from "../namespaces.js";
import { describeAt } from "../read.js";
import { prepareTraining } from "../train-index.js";
import type { OpenIndex } from "../open/open-index.js";
import type { OpenCollection } from "./open-collection.js";
import { shardsOf, sumOf } from "./shards.js";

/** Works on one shard after the other, since each takes much memory and all cores. */
async function inSequence(
  { shards }: OpenCollection,
  work: (shard: OpenIndex) => Promise<void>,
): Promise<void> {
  for (const ref of await shards.refs()) await work(await shards.open(ref));
}

export function trainEach(collection: OpenCollection, options: TrainOptions): Promise<void> {
  return inSequence(collection, (shard) => prepareTraining(shard, options)());
}

export async function compactEach(
  collection: OpenCollection,
  signal: AbortSignal | undefined,
): Promise<void> {
  await inSequence(collection, (shard) => compactAndCollect(shard, signal));
  await compactAndCollect(collection.shards.head, signal);
}

export async function reencryptEach(
  collection: OpenCollection,
  signal: AbortSignal | undefined,
): Promise<void> {
  await inSequence(collection, (shard) => reencrypt(shard, signal));
  await reencrypt(collection.shards.head, signal);
}

export function prefetchEach({ index }: OpenCollection, signal: AbortSignal | undefined): Promise<boolean> {
  return index.snapshots.read(async (snapshot) => {
    if (!(snapshot instanceof CombinedSnapshot)) return true;
    for (const part of snapshot.parts) {
      const { searcher } = part;
      const isWhole = await prefetch(
        { searcher, snapshots: { read: async (work) => work(part.snapshot) } },
        signal,
      );
      if (!isWhole) return false;
    }
    return true;
  });
}

/** Sums over the shards, of one state. */
export async function describeAll({ index, shards }: OpenCollection): Promise<IndexDescription> {
  const snapshot = await index.snapshots.read(async (one) => one);
  const parts = snapshot instanceof CombinedSnapshot ? snapshot.parts : [];
  const opened = await Promise.all(shardsOf(snapshot.manifest).map((ref) => shards.open(ref)));
  const all = opened.map((shard, i) => describeAt(shard, parts[i].snapshot));
  const failure = all.find(({ trainingFailure }) => trainingFailure !== undefined)?.trainingFailure;
  return {
    ...describeAt(index, snapshot),
    shards: all.length,
    nLists: sumOf(all, ({ nLists }) => nLists),
    trained: all.every(({ trained }) => trained),
    segments: sumOf(all, ({ segments }) => segments),
    storedBytes: sumOf(all, ({ storedBytes }) => storedBytes),
    reclaimableBytes: sumOf(all, ({ reclaimableBytes }) => reclaimableBytes),
    ...(failure !== undefined && { trainingFailure: failure }),
  };
}

/** The names of the namespaces that have segments. */
export function namespaceNamesOf({ index }: OpenCollection): Promise<string[]> {
  return index.snapshots.read(({ segments }) =>
    [...new Set(segments.flatMap(({ namespace }) => namespace ?? []))].sort(),
  );
}

/** Erases a namespace in each shard. The receipt is the collection's, made once nothing is left in any. */
export async function eraseFrom(
  { index, shards }: OpenCollection,
  namespace: string,
  signal: AbortSignal | undefined,
): Promise<ErasureReceipt> {
  const erased = await shards.each((shard) => erase(shard, namespace, signal));
  const newest = await index.log.newest();
  return receiptOf(
    index,
    namespace,
    sumOf(erased, ({ rows }) => rows),
    newest,
  );
}

/**
 * Another key for the owner. The head is rotated first, so that the next secret of the shards is sealed under data keys that the old key
 * does not open; then each shard gets the key that is derived from it. Until the last step, shards may have keys of either secret, and
 * an interrupted rotation is continued by the next one. Throws as `IndexAccess.rotate`.
 */
export async function rotateKeys(collection: OpenCollection, source: KeySource): Promise<void> {
  const { log, access, keys, indexName } = collection.index;
  keys.check("owner", indexName);
  // A secret of an interrupted rotation may be known to the holder of the key that this one replaces.
  await rotateShards(collection);
  await access.rotate(source);
  const next = secretKey(randomBytes(keyBytes));
  await log.commit(({ shardSecrets = [], ...latest }) => ({
    ...latest,
    shardSecrets: [...shardSecrets.slice(0, 1), next],
  }));
  await rotateShards(collection);
}

/** Brings the next secret into force, if there is one. */
async function rotateShards({ index, shards }: OpenCollection): Promise<void> {
  const [, next] = (await index.log.newest()).shardSecrets ?? [];
  if (next === undefined) return;
  const refs = await shards.refs();
  await shards.each((shard, position) =>
    shard.access.rotate(deriveShardKey(next, index.indexId, refs[position].from)),
  );
  await index.log.commit((latest) =>
    latest.shardSecrets?.[1]?.equals(next) ? { ...latest, shardSecrets: [next] } : null,
  );
}
