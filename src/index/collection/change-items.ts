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
import type { OpenCollection } from "./open-collection.js";
import { shardOf, sumOf } from "./shards.js";

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
  const refs = await shards.refs();
  const parts = partition(checked, refs.length, ({ fingerprint }) => shardOf(refs, fingerprint));
  const concerned = [...parts.keys()].filter(
    (position) => conditions.deleteFilter !== undefined || parts[position].items.length > 0,
  );
  const results = await inEach({ index, shards }, namespace, concerned, (shard, position) =>
    upsertChecked(shard, parts[position], conditions),
  );
  return {
    stored: sumOf(results, ({ stored }) => stored),
    unchanged: sumOf(results, ({ unchanged }) => unchanged),
    deleted: sumOf(results, ({ deleted }) => deleted),
  };
}

export async function updateIn(
  collection: OpenCollection,
  items: UpdatedItems,
  change: CheckedChange,
  { namespace, signal }: ChangeOptions,
): Promise<UpdateResult> {
  const work = (own: UpdatedItems) => (shard: OpenIndex) => update(shard, own, change, signal);
  const results =
    items.ids === undefined
      ? await inEach(collection, namespace, undefined, work(items))
      : await withIds(collection, items.ids, namespace, (shard, ids) =>
          work({ ids, filter: undefined })(shard),
        );
  return {
    matched: sumOf(results, ({ matched }) => matched),
    updated: sumOf(results, ({ updated }) => updated),
  };
}

export async function deleteFrom(
  collection: OpenCollection,
  selected: Selection,
  { namespace, signal }: ChangeOptions,
): Promise<void> {
  const { ids, filter } = selected;
  if (ids === undefined) {
    await inEach(collection, namespace, undefined, (shard) => deleteSelected(shard, selected, signal));
  } else {
    await withIds(collection, ids, namespace, (shard, own) =>
      deleteSelected(shard, { ids: own, filter }, signal),
    );
  }
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

/** The results of `work` on each shard that may have some of the ids. */
async function withIds<T>(
  collection: OpenCollection,
  ids: readonly string[],
  namespace: string | undefined,
  work: (shard: OpenIndex, ids: readonly string[]) => Promise<T>,
): Promise<T[]> {
  const { index, shards } = collection;
  const refs = await shards.refs();
  const distinct = [...new Set(ids)];
  const own = new Map<number, string[]>();
  for (const [i, fingerprint] of (await fingerprintsOf(index, distinct)).entries()) {
    const position = shardOf(refs, fingerprint);
    const some = own.get(position);
    if (some === undefined) own.set(position, [distinct[i]]);
    else some.push(distinct[i]);
  }
  return inEach(collection, namespace, own.keys(), (shard, position) => work(shard, own.get(position) ?? []));
}

/** The results of a change of items in these shards, or in all. */
function inEach<T>(
  { shards }: OpenCollection,
  namespace: string | undefined,
  positions: Iterable<number> | undefined,
  work: (shard: OpenIndex, position: number) => Promise<T>,
): Promise<T[]> {
  return shards.each(
    (shard, position) =>
      shard.maintenance.duringWrite(() => work(restrictToNamespace(shard, namespace), position)),
    positions,
  );
}
