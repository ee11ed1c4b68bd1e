/**
 * Shards that are stored beside those of a collection: those that a split makes, until the head names them instead of the one that is split; and
 * those that were split, until no reader needs the states of the head that name them. The head lists them, so that none is forgotten,
 * however a process ends.
 */

import { own } from "../../checks/value-kinds.js";
import type { Manifest, ShardRef, SpareShard } from "../../state/commit/manifest.js";
import { manifestPrefix } from "../../state/commit/object-names.js";
import type { OpenCollection } from "./open-collection.js";
import { forEach, spareShardsOf } from "./shards.js";

/** Whether a split may yet make it a part of the collection. */
export function isUnfinished({ retired }: SpareShard): boolean {
  return retired === undefined;
}

/**
 * Ends the splits that make these shards, or all unfinished ones, and deletes them: from then on no commit of the head can name them.
 * Does as `removeSpareShards`, too. Returns the newest head.
 */
export async function abandonShards(
  collection: OpenCollection,
  isConcerned: (ref: ShardRef) => boolean = () => true,
): Promise<Manifest> {
  const { log } = collection.index;
  const isAbandoned = (ref: SpareShard) => isUnfinished(ref) && isConcerned(ref);
  const newest = await log.newest();
  if (spareShardsOf(newest).length === 0) return newest;
  await log.commit((latest) => {
    const spare = spareShardsOf(latest);
    if (!spare.some(isAbandoned)) return null;
    return {
      ...latest,
      spareShards: spare.map((ref) => (isAbandoned(ref) ? own({ ...ref, retired: 0 }) : ref)),
    };
  });
  await removeSpareShards(collection);
  return log.newest();
}

/** Deletes those that will never be needed again. */
export async function removeSpareShards({ index, shards }: OpenCollection): Promise<void> {
  const { log, scopes, listings } = index;
  const used = [...scopes.namesInUse(), ...listings.namesShown()];
  const isUsed = ({ indexId }: ShardRef) => {
    const manifests = manifestPrefix(Buffer.from(indexId, "hex"));
    return used.some((name) => name.startsWith(manifests));
  };
  const due = spareShardsDue(await log.newest()).filter((ref) => !isUsed(ref));
  if (due.length === 0) return;
  await forEach(due, (ref) => shards.delete(ref, undefined));
  const gone = new Set(due.map(({ indexId }) => indexId));
  await log.commit(({ spareShards = [], ...latest }) => {
    const left = spareShards.filter(({ indexId }) => !gone.has(indexId));
    if (left.length === spareShards.length) return null;
    return { ...latest, ...(left.length > 0 && { spareShards: left }) };
  });
}

/** Does so in the background, if the known head has any. */
export function startRemoval(collection: OpenCollection): void {
  const { known } = collection.index.log;
  if (known === undefined || spareShardsDue(known).length === 0) return;
  collection.shards.startJob(() => removeSpareShards(collection));
}

/** Those that no manifest names that is not older than the head keeps. */
function spareShardsDue(head: Manifest): SpareShard[] {
  return spareShardsOf(head).filter(({ retired = Infinity }) => retired <= head.history.floor);
}
