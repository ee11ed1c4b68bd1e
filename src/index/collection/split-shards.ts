/**
 * Splits shards. Each half of the items of a shard is copied to a new one, while others read and write; then one commit of the head names both
 * new ones in the place of the shard, if it still has the state that was copied. A commit to the shard that the head did not name by then
 * counts nowhere, and its writer repeats it in the new shards: see `Shards.change`.
 */

import { randomBytes } from "node:crypto";
import { checkInteger } from "../../checks/input.js";
import { own } from "../../checks/value-kinds.js";
import { shardsMax } from "../../engine/config.js";
import { SealdexError } from "../../errors.js";
import { erasuresOf, type Manifest, type ShardRef } from "../../state/commit/manifest.js";
import { deleteIndex } from "../delete-index.js";
import type { ClientResources, ClientStores } from "../open/client-resources.js";
import type { OpenIndex } from "../open/open-index.js";
import { retryWithReservation } from "../open/retry-with-reservation.js";
import { createShard, type OpenCollection } from "./open-collection.js";
import { ShardCopy } from "./shard-copy.js";
import { forEach, type HashRange, isGoneError, rangeAt, shardsOf, spareShardsOf, sumOf } from "./shards.js";
import { abandonShards, isUnfinished } from "./spare-shards.js";

const suffixBytes = 8;
/** Times that a split begins again, or tries to switch, because of others. */
const attemptsMax = 8;
/** Segments of which so few are copied within a moment: then writers may wait for the rest. */
const segmentsWaitedFor = 4;

interface SplitOptions {
  /** Shards afterwards, at least. */
  readonly count: number;
  readonly stores: ClientStores;
  readonly resources: ClientResources;
  readonly signal: AbortSignal | undefined;
}

/** Splits the shard that has most items until there are `count`. Throws `storage_unavailable` if another process splits them, too. */
export async function splitShards(collection: OpenCollection, options: SplitOptions): Promise<void> {
  const { index, shards } = collection;
  const { count, signal } = options;
  index.keys.check("owner", index.indexName);
  checkInteger(count, 1, shardsMax, "shards");
  // Of a split that was interrupted.
  await abandonShards(collection);
  for (let lost = 0; ;) {
    signal?.throwIfAborted();
    const refs = shardsOf(await index.log.newest());
    if (refs.length >= count) return;
    const rows = await forEach(refs, async (ref) => {
      const { log } = await shards.open(ref);
      const { segments } = await log.manifestOf(ref);
      return sumOf(segments, (segment) => segment.rows - segment.deleted);
    });
    const largest = largestOf(refs, rows);
    if (await splitShard(collection, refs[largest], rangeAt(refs, largest), options)) {
      lost = 0;
      continue;
    }
    const isRivaled = spareShardsOf(await index.log.newest()).some(isUnfinished);
    if (isRivaled || ++lost === attemptsMax) throw disturbed(index);
  }
}

/** The position of the shard with most rows; of those, with most hashes. */
function largestOf(refs: readonly ShardRef[], rows: readonly number[]): number {
  const widthOf = (position: number) => {
    const { from, end } = rangeAt(refs, position);
    return end - from;
  };
  const splittable = [...refs.keys()].filter((position) => widthOf(position) > 1);
  return splittable.reduce((best, next) => {
    const more = rows[next] - rows[best] || widthOf(next) - widthOf(best);
    return more > 0 ? next : best;
  });
}

/** Returns false if others made it void: an erasure, a rotation of keys, another split. If it fails, nothing of it stays. */
async function splitShard(
  collection: OpenCollection,
  { indexId }: ShardRef,
  { from, end }: HashRange,
  options: SplitOptions,
): Promise<boolean> {
  const { log } = collection.index;
  const secret = (await log.newest()).shardSecrets?.at(-1);
  if (secret === undefined) return false;
  const middle = Math.floor((from + end) / 2);
  const suffix = randomBytes(suffixBytes).toString("hex");
  const created: OpenIndex[] = [];
  const create = async (range: HashRange): Promise<ShardCopy> => {
    const { index } = collection;
    const shard = await createShard(
      {
        collectionId: index.indexId,
        secret,
        named: own({ from: range.from, suffix }),
        definition: definitionOf(index),
        signal: options.signal,
      },
      options.stores,
      options.resources,
    );
    created.push(shard);
    shard.keys.nameAs(index.keys);
    return new ShardCopy(shard, range, suffix);
  };
  let isSplit = false;
  try {
    const halves = await forEach(
      [
        { from, end: middle },
        { from: middle, end },
      ],
      create,
    );
    const states = await forEach(halves, (half) => half.state());
    const ids = new Set(states.map((state) => state.indexId));
    /** Whether the head allows that the halves take the place of the shard. */
    const allows = (head: Manifest) =>
      head.shardSecrets?.some((one) => one.equals(secret)) === true &&
      spareShardsOf(head).filter((ref) => isUnfinished(ref) && ids.has(ref.indexId)).length === ids.size;
    const marked = await log.commit((latest) => {
      const spareShards = [...spareShardsOf(latest), ...states];
      const next = { ...latest, spareShards };
      return allows(next) ? next : null;
    });
    if (marked === null) return false;
    try {
      isSplit = await switchTo(collection, indexId, { halves, ids, allows }, options.signal);
    } catch (error) {
      // Others may have deleted the halves.
      const isGone = isGoneError(error) && !allows(await log.newest());
      if (!isGone) throw error;
    }
    return isSplit;
  } finally {
    // If that fails, the next call does it.
    if (!isSplit) await discard(collection, created, options.stores).catch(() => undefined);
  }
}

interface Halves {
  readonly halves: readonly ShardCopy[];
  readonly ids: ReadonlySet<string>;
  allows(head: Manifest): boolean;
}

/** Copies the shard, and has the head name the copies in its place. */
async function switchTo(
  { index, shards }: OpenCollection,
  indexId: string,
  { halves, ids, allows }: Halves,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { log } = index;
  let erasures: number | undefined;
  /** The state of the shard that the head names, and how many of its segments had to be copied; undefined: the split is void. */
  const copyNamed = async () => {
    for (;;) {
      signal?.throwIfAborted();
      const head = await log.newest();
      const named = shardsOf(head).find((ref) => ref.indexId === indexId);
      if (named === undefined || !allows(head)) return undefined;
      const shard = await shards.open(named);
      const state = await shard.log.manifestOf(named);
      // Copies from before an erasure may have erased items.
      erasures ??= erasuresOf(state);
      if (erasuresOf(state) !== erasures) return undefined;
      try {
        const { snapshot, release } = await shard.snapshots.hold(state);
        try {
          const copied = await forEach(halves, (half) => half.copy(shard, snapshot, signal));
          return { named, state, copied: sumOf(copied, (count) => count) };
        } finally {
          release();
        }
      } catch (error) {
        // Of a state that others have replaced since, objects may be gone.
        const now = shardsOf(await log.newest()).find((ref) => ref.indexId === indexId);
        if (!isGoneError(error) || now?.digest === named.digest) throw error;
      }
    }
  };
  for (let round = 0; round < attemptsMax; round++) {
    const done = await copyNamed();
    if (done === undefined) return false;
    if (done.copied <= segmentsWaitedFor) break;
  }
  const outcome = await retryWithReservation<"split" | "void">(
    index,
    async (reservation) => {
      const done = await copyNamed();
      if (done === undefined) return "void";
      const { named, state } = done;
      await forEach(halves, (half) => half.commit(state));
      const states = await forEach(halves, (half) => half.state());
      const committed = await log.commit((latest) => {
        const refs = shardsOf(latest);
        const at = refs.findIndex((ref) => ref.indexId === indexId);
        if (!allows(latest) || refs.at(at)?.digest !== named.digest) return null;
        const retired = own({ ...refs[at], retired: latest.version + 1 });
        return {
          ...latest,
          shards: refs.toSpliced(at, 1, ...states),
          spareShards: [...spareShardsOf(latest).filter((ref) => !ids.has(ref.indexId)), retired],
        };
      }, reservation);
      return committed === null ? null : "split";
    },
    attemptsMax,
  );
  return outcome === "split";
}

/** Deletes the shards that a failed split has made, unless the head names them after all. */
async function discard(
  collection: OpenCollection,
  created: readonly OpenIndex[],
  stores: ClientStores,
): Promise<void> {
  const idOf = ({ indexId }: OpenIndex) => Buffer.from(indexId).toString("hex");
  const ids = new Set(created.map(idOf));
  const all = await abandonShards(collection, ({ indexId }) => ids.has(indexId)).then(
    (head) => [...shardsOf(head), ...spareShardsOf(head)],
    (error: unknown) => {
      // The collection was deleted.
      if (isGoneError(error)) return [];
      throw error;
    },
  );
  const named = new Set(all.map(({ indexId }) => indexId));
  const unnamed = created.filter((shard) => !named.has(idOf(shard)));
  await forEach(unnamed, async (shard) => {
    try {
      await deleteIndex(shard, stores, undefined);
    } catch (error) {
      if (!isGoneError(error)) throw error;
      // Others deleted it before, and copies may have followed: no key opens them any more.
      await shard.log.store.delete(await shard.namespaces.objectNames());
    }
  });
}

function definitionOf({ config, model, words }: OpenIndex) {
  return own({ config, ...(model && { model }), ...(words && { text: words.definition }) });
}

function disturbed({ indexName }: OpenIndex): SealdexError {
  return new SealdexError(
    "storage_unavailable",
    `collection "${indexName}": its shards are not split, since other processes split them or change them meanwhile`,
  );
}
