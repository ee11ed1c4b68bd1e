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
import type { ShardRef } from "../../state/commit/manifest.js";
import type { OpenCollection } from "./open-collection.js";
import { forEach, shardsOf, spareShardsOf, sumOf, wasSplit } from "./shards.js";
import { abandonShards, removeSpareShards } from "./spare-shards.js";

/** Works on one shard after the other, since each takes much memory and all cores; also on those in the place of one that is split meanwhile. */
async function inSequence(
  { shards }: OpenCollection,
  work: (shard: OpenIndex) => Promise<void>,
): Promise<void> {
  const done = new Set<string>();
  for (;;) {
    const ref = (await shards.refs()).find(({ indexId }) => !done.has(indexId));
    if (ref === undefined) return;
    done.add(ref.indexId);
    await shards.change(ref, work, () => true);
  }
}

/** As `prepareTraining`: the collection learns from the queries, since no shard knows their nearest items. */
export function prepareTrainings(collection: OpenCollection, options: TrainOptions): () => Promise<void> {
  const { queries: _, ...ofShards } = options;
  const trainEach = () => inSequence(collection, (shard) => prepareTraining(shard, ofShards)());
  return prepareTraining(collection.index, options, trainEach);
}

export async function compactEach(
  collection: OpenCollection,
  signal: AbortSignal | undefined,
): Promise<void> {
  await inSequence(collection, (shard) => compactAndCollect(shard, signal));
  await compactAndCollect(collection.shards.head, signal);
  await removeSpareShards(collection);
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
    trained: isTrained(all),
    segments: sumOf(all, ({ segments }) => segments),
    storedBytes: sumOf(all, ({ storedBytes }) => storedBytes),
    reclaimableBytes: sumOf(all, ({ reclaimableBytes }) => reclaimableBytes),
    ...(failure !== undefined && { trainingFailure: failure }),
  };
}

/** Shards without items cannot be trained. */
function isTrained(shards: readonly IndexDescription[]): boolean {
  return (
    shards.some(({ trained }) => trained) &&
    shards.every(({ trained, segments }) => trained || segments === 0)
  );
}

/** The names of the namespaces that have segments. */
export function namespaceNamesOf({ index }: OpenCollection): Promise<string[]> {
  return index.snapshots.read(({ segments }) =>
    [...new Set(segments.flatMap(({ namespace }) => namespace ?? []))].sort(),
  );
}

/** Erases a namespace in each shard, also in those that were split. The receipt is the collection's, made once nothing is left in any. */
export async function eraseFrom(
  collection: OpenCollection,
  namespace: string,
  signal: AbortSignal | undefined,
): Promise<ErasureReceipt> {
  const { index, shards } = collection;
  const rows = new Map<string, number>();
  for (;;) {
    // A split has made copies in them, perhaps.
    const newest = await abandonShards(collection);
    const isLeft = ({ indexId }: ShardRef) => !rows.has(indexId);
    const [parts, spare] = [shardsOf(newest).filter(isLeft), spareShardsOf(newest).filter(isLeft)];
    if (parts.length + spare.length === 0) {
      return receiptOf(
        index,
        namespace,
        sumOf([...rows.values()], (count) => count),
        newest,
      );
    }
    await forEach(parts, async (ref) => {
      const erased = await shards.change(
        ref,
        (shard) => erase(shard, namespace, signal),
        (receipt) => receipt.rows > 0,
      );
      if (erased !== wasSplit) rows.set(ref.indexId, erased.rows);
    });
    await forEach(spare, async (ref) => {
      await erase(await shards.openUnnamed(ref), namespace, signal);
      rows.set(ref.indexId, 0);
    });
  }
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

/** Brings the next secret into force, if there is one. No shard is stored then that has a key of another. */
async function rotateShards(collection: OpenCollection): Promise<void> {
  const { index, shards } = collection;
  for (;;) {
    const newest = await abandonShards(collection);
    const [, next] = newest.shardSecrets ?? [];
    if (next === undefined) return;
    const rotate = (shard: OpenIndex, { from }: ShardRef) =>
      shard.access.rotate(deriveShardKey(next, index.indexId, from));
    const [parts, spare] = [shardsOf(newest), spareShardsOf(newest)];
    await forEach(parts, (ref) =>
      shards.change(
        ref,
        (shard) => rotate(shard, ref),
        () => true,
      ),
    );
    await forEach(spare, async (ref) => rotate(await shards.openUnnamed(ref), ref));
    const rotated = new Set([...parts, ...spare].map(({ indexId }) => indexId));
    await index.log.commit((latest) => {
      const all = [...shardsOf(latest), ...spareShardsOf(latest)];
      const isDone = all.every(({ indexId }) => rotated.has(indexId));
      return isDone && latest.shardSecrets?.[1]?.equals(next) ? { ...latest, shardSecrets: [next] } : null;
    });
  }
}
