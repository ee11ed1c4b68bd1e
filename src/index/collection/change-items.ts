/** Changes to the items of a collection: each goes to the shards that have the items, or to all of them, at the same time. */

import type { CheckedChange } from "../../api/check-selection.js";
import type { ChangeOptions, Item, Selection, UpdateResult, UpsertResult } from "../../api/vector-index.js";
import type { UpsertConditions } from "../conditional-upsert.js";
import { deleteSelected } from "../delete.js";
import { dimensionMismatch, dimensionOf } from "../open/dimension.js";
import { fingerprintsOf } from "../open/fingerprints.js";
import { type OpenIndex, restrictToNamespace } from "../open/open-index.js";
import type { CheckedItems } from "../pack-items.js";
import { update, type UpdatedItems } from "../update.js";
import { takeChecked, upsertChecked } from "../upsert-items.js";
import type { ShardRef } from "../../state/commit/manifest.js";
import type { OpenCollection } from "./open-collection.js";
import {
  allHashes,
  forEach,
  type HashRange,
  rangeAt,
  shardOf,
  type Shards,
  sumOf,
  wasSplit,
} from "./shards.js";

interface UpsertTarget {
  readonly namespace: string | undefined;
  readonly conditions: UpsertConditions;
}

/** One commit per shard that has one of the items; with a `deleteFilter`, in all shards. */
export async function upsertInto(
  { index, shards }: OpenCollection,
  items: readonly Item[],
  { namespace, conditions }: UpsertTarget,
): Promise<UpsertResult> {
  const checked = await takeChecked(index, items, conditions.embedder);
  if (checked.items.length > 0) await fixDimension(index, checked.dimension);
  const results = await inShards(shards, namespace, {
    all: checked,
    divide(part, refs) {
      const parts = partition(part, refs.length, ({ fingerprint }) => shardOf(refs, fingerprint));
      return parts.map((own) =>
        conditions.deleteFilter !== undefined || own.items.length > 0 ? own : undefined,
      );
    },
    work: (shard, part) => upsertChecked(shard, part, conditions),
    isCommitted: ({ stored, deleted }) => stored + deleted > 0,
  });
  return {
    stored: sumOf(results, ({ stored }) => stored),
    unchanged: sumOf(results, ({ unchanged }) => unchanged),
    deleted: sumOf(results, ({ deleted }) => deleted),
  };
}

export async function updateIn(
  { index, shards }: OpenCollection,
  items: UpdatedItems,
  change: CheckedChange,
  { namespace, signal }: ChangeOptions,
): Promise<UpdateResult> {
  const results = await inShards(shards, namespace, {
    all: await selectedIds(index, items.ids),
    divide: divideIds,
    work: (shard, own) =>
      update(shard, own === "all" ? items : { ids: [...own.keys()], filter: undefined }, change, signal),
    isCommitted: ({ updated }) => updated > 0,
  });
  return {
    matched: sumOf(results, ({ matched }) => matched),
    updated: sumOf(results, ({ updated }) => updated),
  };
}

export async function deleteFrom(
  { index, shards }: OpenCollection,
  selected: Selection,
  { namespace, signal }: ChangeOptions,
): Promise<void> {
  const { ids, filter } = selected;
  await inShards(shards, namespace, {
    all: await selectedIds(index, ids),
    divide: divideIds,
    work: (shard, own) =>
      deleteSelected(shard, own === "all" ? selected : { ids: [...own.keys()], filter }, signal),
    isCommitted: (isDeleted) => isDeleted,
  });
}

/** The first vector of a collection decides on the dimension of all shards. */
async function fixDimension(index: OpenIndex, dimension: number | undefined): Promise<void> {
  if (dimension === undefined || dimensionOf(index, await index.log.knownOrNewest()) !== undefined) return;
  await index.log.commit((latest) => {
    if (latest.dimension === dimension) return null;
    if (latest.dimension !== undefined) throw dimensionMismatch("items", latest.dimension, dimension);
    return { ...latest, dimension };
  });
}

/** The items of each shard. */
function partition(
  { items, vectors, dimension }: CheckedItems,
  count: number,
  positionIn: (row: CheckedItems["items"][number]["row"]) => number,
): CheckedItems[] {
  const places = Array.from({ length: count }, (): number[] => []);
  for (const [at, { row }] of items.entries()) places[positionIn(row)].push(at);
  const size = dimension ?? 0;
  return places.map((own) => {
    const part = new Float32Array(own.length * size);
    for (const [i, at] of own.entries()) part.set(vectors.subarray(at * size, (at + 1) * size), i * size);
    return { items: own.map((at) => items[at]), vectors: part, dimension };
  });
}

/** Ids with their fingerprints, or all that a shard has. */
type SelectedIds = ReadonlyMap<string, Uint8Array> | "all";

async function selectedIds(index: OpenIndex, ids: readonly string[] | undefined): Promise<SelectedIds> {
  if (ids === undefined) return "all";
  const distinct = [...new Set(ids)];
  const fingerprints = await fingerprintsOf(index, distinct);
  return new Map(distinct.map((id, i) => [id, fingerprints[i]]));
}

/** The ids that each shard may have. */
function divideIds(ids: SelectedIds, refs: readonly ShardRef[]): (SelectedIds | undefined)[] {
  if (ids === "all") return refs.map(() => ids);
  const parts = new Map<number, Map<string, Uint8Array>>();
  for (const [id, fingerprint] of ids) {
    const position = shardOf(refs, fingerprint);
    parts.set(position, (parts.get(position) ?? new Map<string, Uint8Array>()).set(id, fingerprint));
  }
  return refs.map((_, position) => parts.get(position));
}

/** A change of items, which is divided among shards. */
interface DividedChange<P, T> {
  readonly all: P;
  /** The parts of some neighboring shards; undefined: nothing is to be done there. */
  divide(part: P, refs: readonly ShardRef[]): readonly (P | undefined)[];
  work(shard: OpenIndex, part: P): Promise<T>;
  /** Whether a result is of a commit. */
  isCommitted(result: T): boolean;
}

/** The results of a change of items in all shards that it concerns. The part of a shard that was split meanwhile goes to those in its place. */
async function inShards<P, T>(
  shards: Shards,
  namespace: string | undefined,
  { all, divide, work, isCommitted }: DividedChange<P, T>,
): Promise<T[]> {
  const changeIn = async (part: P, range: HashRange): Promise<T[]> => {
    const refs = await shards.refs();
    const ranges = refs.map((_, position) => rangeAt(refs, position));
    const within = refs.filter((_, i) => ranges[i].from >= range.from && ranges[i].end <= range.end);
    const parts = divide(part, within);
    const results = await forEach([...parts.keys()], async (i): Promise<T[]> => {
      const own = parts[i];
      if (own === undefined) return [];
      const result = await shards.change(
        within[i],
        (shard) => shard.maintenance.duringWrite(() => work(restrictToNamespace(shard, namespace), own)),
        isCommitted,
      );
      return result === wasSplit ? changeIn(own, ranges[refs.indexOf(within[i])]) : [result];
    });
    return results.flat();
  };
  return changeIn(all, allHashes);
}
