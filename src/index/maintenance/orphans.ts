/**
 * Orphans: objects of a deletion or a copy of an index, or of the creation of a collection, that was interrupted. All put a
 * mark into the index location and the configuration location before anything else; a copy and a creation take it away when
 * they are complete. Only marked objects of a location are ever deleted there, a day after its newest mark, and only if no
 * record names it: an index whose records lie elsewhere has no mark here.
 */

import type { Clock } from "../../state/commit/clock.js";
import {
  groupsPrefix,
  indexObjectKinds,
  type IndexPlace,
  manifestPrefix,
  namespacesPrefix,
  objectPrefix,
  orphanName,
  orphanPrefix,
  orphansPrefix,
  parseOrphanName,
  shardPrefixes,
} from "../../state/commit/object-names.js";
import { readObject } from "../../state/commit/read-object.js";
import { uploadMs } from "../../state/commit/retention.js";
import { equalInConstantTime } from "../../crypto/keys.js";
import { SealdexError } from "../../errors.js";
import type { BlobStore } from "../../storage/blob-store.js";
import { indexIdOf } from "../open/index-record.js";
import { keysInPages } from "./list-blobs.js";
import type { JobRunner } from "../open/job-runner.js";
import { foldersOf, type IndexFolders } from "../open/client-resources.js";
import { listRecords } from "../open/record-access.js";

/** An index whose rest `collectGarbage` deleted. */
export interface CollectedIndex {
  readonly indexName: string;
  /** How many objects of it there were. */
  readonly objects: number;
}

/** Marks an index that is going to be deleted, or copied to these stores, and a collection that is going to be created. */
export class OrphanMark {
  readonly #stores: IndexFolders;
  readonly #place: IndexPlace;
  readonly #clock: Clock;
  #since = -Infinity;

  constructor(stores: IndexFolders, place: IndexPlace, clock: Clock) {
    this.#stores = stores;
    this.#place = place;
    this.#clock = clock;
  }

  /** Puts the mark up, or another one if the last is an hour old: a copy that takes longer than a day is no orphan. */
  async renew(): Promise<void> {
    const now = this.#clock.wall();
    if (now - this.#since < renewalMs) return;
    this.#since = now;
    const name = orphanName(this.#place, now);
    for (const store of storesOf(this.#stores)) await store.create(name, new Uint8Array(0));
  }
}

const renewalMs = 60 * 60 * 1000;
/** Of a record that is damaged, or of another format. */
const unreadable: ReadonlySet<string> = new Set(["corrupt", "not_supported"]);

/**
 * Deletes the orphans whose newest mark is a day old, and the marks of indexes that have a record all the same. With `dryRun`
 * it only returns the objects that it would delete.
 */
export async function deleteOrphans(
  stores: IndexFolders,
  clock: Clock,
  { dryRun = false, signal }: { readonly dryRun?: boolean; readonly signal?: AbortSignal | undefined } = {},
): Promise<CollectedIndex[]> {
  const marks = new Map<string, IndexPlace & { readonly since: number }>();
  // The marks of an index follow one another, the newest last.
  for await (const key of keysInPages(stores.configStore, orphansPrefix, { signal })) {
    const mark = parseOrphanName(key);
    if (mark !== undefined) marks.set(orphanPrefix(mark), mark);
  }
  const deleted: CollectedIndex[] = [];
  for (const place of marks.values()) {
    if (signal?.aborted) break;
    if (clock.wall() - place.since < uploadMs) continue;
    const state = await recordOf(stores.configStore, place);
    if (state === "there" && !dryRun) await deleteMarks(stores, place);
    if (state !== "none") continue;
    // Read again after the record: a copy that has begun meanwhile has put up another mark, one that is complete has left none.
    const newest = (await marksOf(stores.configStore, place)).at(-1);
    if (newest !== orphanName(place, place.since)) continue;
    deleted.push({ indexName: place.indexName, objects: await deleteOrphan(stores, place, dryRun) });
  }
  return deleted;
}

/** Orphans have to wait for a day, so an hour more makes little difference. */
const sweepPauseMs = 60 * 60 * 1000;

/** Searches for orphans after a deletion, which may leave some, and rarely, since it lists all marks. */
export class OrphanSweeps {
  readonly #runner: JobRunner;
  readonly #clock: Clock;
  #begunAt = -Infinity;

  constructor(runner: JobRunner, clock: Clock) {
    this.#runner = runner;
    this.#clock = clock;
  }

  /** Begins one, unless the last began less than an hour ago. */
  begin(stores: IndexFolders): void {
    const now = this.#clock.steady();
    if (now - this.#begunAt < sweepPauseMs) return;
    this.#begunAt = now;
    this.#runner.start((signal) => deleteOrphans(stores, this.#clock, { signal }));
  }
}

/** Whether there is a record of this index. A record of the name that cannot be read may be its own. */
async function recordOf(
  configStore: BlobStore,
  { indexName, indexId }: IndexPlace,
): Promise<"there" | "unreadable" | "none"> {
  const names = await listRecords(configStore, indexName);
  const records = await Promise.all(names.map((name) => readObject(configStore, "record", name)));
  try {
    const ids = records.flatMap((bytes) => (bytes === null ? [] : [indexIdOf(indexName, bytes)]));
    return ids.some((id) => equalInConstantTime(id, indexId)) ? "there" : "none";
  } catch (error) {
    if (error instanceof SealdexError && unreadable.has(error.code)) return "unreadable";
    throw error;
  }
}

/**
 * Deletes the rest of a marked index, of all shards that were made for it, and its marks. Returns how many objects it had;
 * with `dryRun`, it only counts them. Manifests go in ascending order, so that none seems to be the newest that is not.
 */
export async function deleteOrphan(stores: IndexFolders, place: IndexPlace, dryRun = false): Promise<number> {
  const { indexStore, configStore } = foldersOf(stores, place.indexName);
  const { indexId } = place;
  const prefixes = [namespacesPrefix(indexId), groupsPrefix(indexId)];
  const secrets = (await Promise.all(prefixes.map((prefix) => configStore.list(prefix)))).flat();
  // An index location without a mark has objects of another configuration location, which may have a copy of this index.
  const isMarked = (await marksOf(stores.indexStore, place)).length > 0;
  const objects = isMarked ? await objectsOf(indexStore, indexId) : [];
  const manifests = await configStore.list(manifestPrefix(indexId));
  const shards: [BlobStore, string[]][] = [];
  for (const store of isMarked ? storesOf(stores) : [stores.configStore]) {
    const lists = shardPrefixes(indexId).map((prefix) => store.list(prefix));
    shards.push([store, (await Promise.all(lists)).flat()]);
  }
  if (!dryRun) {
    for (const [store, names] of shards) await store.delete(names);
    await configStore.delete(secrets);
    await indexStore.delete(objects);
    await configStore.delete(manifests.toReversed());
    await deleteMarks(stores, place);
  }
  return [secrets, objects, manifests, ...shards.map(([, names]) => names)].flat().length;
}

/** Its segments and models. `folder`: of the index location. */
export async function objectsOf(folder: BlobStore, indexId: Uint8Array): Promise<string[]> {
  const lists = indexObjectKinds.map((kind) => folder.list(objectPrefix(indexId, kind)));
  return (await Promise.all(lists)).flat();
}

/** Deletes the marks of an index that is complete, or gone. */
export async function deleteMarks(stores: IndexFolders, place: IndexPlace): Promise<void> {
  for (const store of storesOf(stores)) await store.delete(await marksOf(store, place));
}

async function marksOf(store: BlobStore, place: IndexPlace): Promise<string[]> {
  return (await store.list(orphanPrefix(place))).filter((key) => parseOrphanName(key) !== undefined);
}

function storesOf({ indexStore, configStore }: IndexFolders): Set<BlobStore> {
  return new Set([indexStore, configStore]);
}
