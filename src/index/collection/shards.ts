/**
 * The shards of a collection: ordinary indexes, under names that no caller can give, with keys derived from a secret of the collection.
 *
 * The manifests of the collection, its head, name one state of each shard. They are the anchors of the shards: a commit to a shard is
 * acknowledged once the head names it, and no shard is read or continued at a state that does not descend from the one that the head names.
 */

import type { KeyObject } from "node:crypto";
import { memoize } from "../../async/memoize.js";
import { settleEach } from "../../async/settle-each.js";
import { own } from "../../checks/value-kinds.js";
import { deriveShardKey, fingerprint } from "../../crypto/keys.js";
import { SealdexError } from "../../errors.js";
import { CombinedSnapshot } from "../../query/combined-snapshot.js";
import {
  type CollectionNaming,
  searchByLeaves,
  type SearchShards,
  type ShardAddress,
} from "../../query/shard-search.js";
import type { SnapshotObjects } from "../../query/snapshot/open-snapshots.js";
import type { IndexCache } from "../../state/cache/index-cache.js";
import type { Anchor } from "../../state/commit/anchor.js";
import type { Anchors } from "../../state/commit/anchored-history.js";
import type { Manifest, ShardRef, SpareShard } from "../../state/commit/manifest.js";
import { deleteIndex } from "../delete-index.js";
import { openIndex, type OpenOptions, plainIndex } from "../open/assemble.js";
import type { ClientResources, ClientStores } from "../open/client-resources.js";
import type { OpenIndex } from "../open/open-index.js";
import { type FoundShard, findShard, isWrongKeyError } from "./find-shard.js";

/** Shards at which one call works at a time. */
const together = 32;

/** The results of `work` on each of these shards, in any form. If it fails for one, this throws when it is done with all. */
export function forEach<S, T>(shards: readonly S[], work: (shard: S) => Promise<T>): Promise<T[]> {
  return settleEach(shards, together, work);
}

/** Instead of the result of a change that counts nowhere, since its shard was split before; and the cause of the error of such a commit. */
export const wasSplit = Symbol("was split");

export class Shards {
  readonly head: OpenIndex;
  readonly #stores: ClientStores;
  readonly #resources: ClientResources;
  #isWorking = false;
  /** By index id. */
  readonly #open = new Map<string, Promise<OpenIndex>>();
  /** Of the manifest whose keys are known. */
  #secrets: readonly KeyObject[] = [];
  /** By the beginning of the shard. */
  readonly #keys = new Map<number, readonly KeyObject[]>();

  constructor(head: OpenIndex, stores: ClientStores, resources: ClientResources) {
    this.head = head;
    this.#stores = { ...stores, anchorStore: undefined };
    this.#resources = resources;
  }

  /** Where the shards are in the newest manifest that is known. */
  async refs(): Promise<readonly ShardRef[]> {
    return shardsOf(await this.head.log.knownOrNewest());
  }

  open(ref: ShardRef): Promise<OpenIndex> {
    return memoize(this.#open, ref.indexId, async () => {
      const { head } = this;
      const anchors = new HeadAnchors(head, ref.indexId, (version) => shard.log.manifestAt(version));
      const currentKey = async () => (await this.#find(ref)).key;
      const shard = await this.#openAs(ref, { ...plainIndex, anchors, head, currentKey });
      return shard;
    });
  }

  /** A shard at the newest state that is stored, whether the head names it or not: to erase from it, or delete it. */
  openUnnamed(ref: SpareShard): Promise<OpenIndex> {
    return this.#openAs(ref, plainIndex);
  }

  /** Deletes a shard, unless another call did, or does: its keys, at least, are gone then. */
  async delete(ref: SpareShard, signal: AbortSignal | undefined): Promise<void> {
    try {
      await deleteIndex(await this.openUnnamed(ref), this.#stores, signal);
    } catch (error) {
      if (!isGoneError(error)) throw error;
    }
  }

  /** Runs work in the background, unless such work runs. Its failure is not reported. */
  startJob(work: () => Promise<unknown>): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    this.#resources.runner.start(() => work().finally(() => (this.#isWorking = false)));
  }

  /**
   * The result of a change of a shard. `wasSplit` if the shard is no part of the collection any more, as may be unknown here before:
   * then it has had no effect. `isCommitted`: whether a result is of a commit.
   */
  async change<T>(
    ref: ShardRef,
    work: (shard: OpenIndex) => Promise<T>,
    isCommitted: (result: T) => boolean,
  ): Promise<T | typeof wasSplit> {
    try {
      const shard = await this.open(ref);
      const [result] = await Promise.all([work(shard), this.head.log.prepareCommit()]);
      if (!isCommitted(result)) await this.#confirm(ref, shard);
      return result;
    } catch (error) {
      if (!(await this.#isOfSplit(ref, error))) throw error;
      return wasSplit;
    }
  }

  /** Whether the newest head does not name the shard, and a failure is explained by that. */
  async #isOfSplit({ indexId }: ShardRef, error: unknown): Promise<boolean> {
    if (!(error instanceof SealdexError)) return false;
    if (error.cause === wasSplit) return true;
    return (
      isGoneError(error) && !shardsOf(await this.head.log.newest()).some((ref) => ref.indexId === indexId)
    );
  }

  /** For a change that had nothing to do in the newest state of a shard: throws unless it is part of the collection, and has the head name it. */
  async #confirm({ indexId }: ShardRef, { log }: OpenIndex): Promise<void> {
    const newest = shardsOf(await this.head.log.newest());
    if (!newest.some((ref) => ref.indexId === indexId)) throw splitBefore(this.head);
    await log.anchorNewest();
  }

  /** The shards as leaves find and open them. */
  addressed(manifest: Manifest): { collection: CollectionNaming; shards: ShardAddress[] } {
    const { indexId, keys } = this.head;
    return {
      collection: { id: Buffer.from(indexId).toString("hex"), keys },
      shards: shardsOf(manifest).map((ref) => ({ ...ref, keys: this.#keysOf(ref, manifest) })),
    };
  }

  /** One of them opens the shard. */
  #keysOf({ from }: ShardRef, { shardSecrets = [] }: Manifest): readonly KeyObject[] {
    const isKnown =
      shardSecrets.length === this.#secrets.length &&
      shardSecrets.every((secret, i) => secret.equals(this.#secrets[i]));
    if (!isKnown) {
      this.#secrets = shardSecrets;
      this.#keys.clear();
    }
    const known = this.#keys.get(from);
    if (known !== undefined) return known;
    const keys = shardSecrets.map((secret) => deriveShardKey(secret, this.head.indexId, from));
    this.#keys.set(from, keys);
    return keys;
  }

  async #openAs(ref: ShardRef, options: OpenOptions): Promise<OpenIndex> {
    const { name, opened } = await this.#find(ref);
    opened.keys.nameAs(this.head.keys);
    return openIndex(name, opened, this.#stores, this.#resources, options);
  }

  async #find(ref: ShardRef): Promise<FoundShard> {
    const { indexId, log } = this.head;
    const find = (head: Manifest) => findShard(this.#stores, indexId, ref, this.#keysOf(ref, head));
    try {
      return await find(await log.knownOrNewest());
    } catch (error) {
      if (!isWrongKeyError(error)) throw error;
      // Its key was rotated since.
      return find(await log.newest());
    }
  }
}

/** Whether it is that of work on an index whose objects were deleted. */
export function isGoneError(error: unknown): boolean {
  return error instanceof SealdexError && (error.code === "not_found" || error.code === "missing_object");
}

export function shardsOf({ shards = [] }: Manifest): readonly ShardRef[] {
  return shards;
}

export function spareShardsOf({ spareShards = [] }: Manifest): readonly SpareShard[] {
  return spareShards;
}

/** Hashes from `from` to below `end`. */
export interface HashRange {
  readonly from: number;
  readonly end: number;
}

export const allHashes: HashRange = { from: 0, end: 2 ** 32 };

/** The range of the shard at a position among all. */
export function rangeAt(refs: readonly ShardRef[], position: number): HashRange {
  return { from: refs[position].from, end: refs.at(position + 1)?.from ?? allHashes.end };
}

export function sumOf<T>(all: readonly T[], numberOf: (one: T) => number): number {
  return all.reduce((sum, one) => sum + numberOf(one), 0);
}

/** Of the fingerprint of an id, in no namespace. */
export function hashOf(idBytes: Uint8Array): number {
  return Buffer.from(idBytes).readUInt32LE(idBytes.length - 4);
}

/** The position of the shard that has an item: by the last word of its fingerprint, which is keyed, so that storage learns nothing of ids. */
export function shardOf(shards: readonly Pick<ShardRef, "from">[], idBytes: Uint8Array): number {
  const hash = hashOf(idBytes);
  let low = 0;
  for (let high = shards.length; high - low > 1;) {
    const middle = (low + high) >>> 1;
    if (shards[middle].from <= hash) low = middle;
    else high = middle;
  }
  return low;
}

/** The state of a shard in the head. Changes that wait at the same time, of all shards, become one manifest of it. */
class HeadAnchors implements Anchors {
  readonly #head: OpenIndex;
  readonly #indexId: string;
  /** A manifest of the shard. */
  readonly #read: (version: number) => Promise<Manifest | null>;

  constructor(head: OpenIndex, indexId: string, read: (version: number) => Promise<Manifest | null>) {
    this.#head = head;
    this.#indexId = indexId;
    this.#read = read;
  }

  /** As far as known: `advance` compares with the newest. */
  async newest(): Promise<Anchor> {
    return this.#in(await this.#head.log.knownOrNewest());
  }

  async advance({
    version,
    digest,
    previous,
  }: Omit<Anchor, "indexId"> & { previous: string }): Promise<void> {
    for (;;) {
      const named = this.#in(await this.#head.log.knownOrNewest());
      if (named.version === version && named.digest === digest) return;
      // The shard was split at the named state. Later ones count nowhere.
      if (named.isSpare && named.version < version) throw splitBefore(this.#head);
      const isNewer = named.version > version;
      const isProven = isNewer
        ? (await this.#read(version + 1))?.previous === digest
        : await this.#descends({ version, previous }, named);
      if (!isProven) throw this.#forked(version);
      if (isNewer) return;
      const committed = await this.#head.log.commit((latest) => {
        const now = this.#in(latest);
        if (now.isSpare || now.version !== named.version || now.digest !== named.digest) return null;
        const moved = shardsOf(latest).map((ref) =>
          ref.indexId === this.#indexId ? own({ ...ref, version, digest }) : ref,
        );
        return { ...latest, shards: moved };
      });
      if (committed !== null) return;
    }
  }

  /** The shard ends with its collection. */
  async end(): Promise<void> {
    await this.newest();
  }

  #in(manifest: Manifest): Anchor & { readonly isSpare: boolean } {
    const isThis = ({ indexId }: ShardRef) => indexId === this.#indexId;
    const part = shardsOf(manifest).find(isThis);
    const ref = part ?? spareShardsOf(manifest).find(isThis);
    if (ref === undefined) {
      throw new SealdexError(
        "storage_unavailable",
        `collection "${this.#head.indexName}": a shard was split so long ago that the outcome of a change cannot be determined`,
      );
    }
    const { version, digest } = ref;
    return { indexId: Buffer.from(ref.indexId, "hex"), version, digest, isSpare: part === undefined };
  }

  /** Whether a manifest of the shard descends from an earlier one. */
  async #descends(later: Pick<Manifest, "version" | "previous">, earlier: Anchor): Promise<boolean> {
    let { version, previous } = later;
    for (; version > earlier.version + 1; version--) {
      const before = await this.#read(version - 1);
      if (before === null) return false;
      ({ previous } = before);
    }
    return version === earlier.version + 1 && previous === earlier.digest;
  }

  #forked(version: number): SealdexError {
    return new SealdexError(
      "rollback_detected",
      `collection "${this.#head.indexName}": version ${version} of a shard belongs to another history`,
    );
  }
}

function splitBefore({ indexName }: OpenIndex): SealdexError {
  return new SealdexError("storage_unavailable", `collection "${indexName}": a shard was split meanwhile`, {
    cause: wasSplit,
  });
}

/** Opens all shards at the states that a manifest names, as one snapshot; of one namespace, or of all. */
export function combinedObjects(
  shards: Shards,
  namespace: string | undefined,
  cache: IndexCache,
  searchShards: SearchShards | undefined,
): SnapshotObjects {
  const openPart = async (ref: ShardRef) => {
    const shard = await shards.open(ref);
    const { searcher, snapshots } = namespace === undefined ? shard : shard.scopes.of(namespace);
    return { searcher, snapshot: await snapshots.at(await shard.log.manifestOf(ref)) };
  };
  return {
    async open(manifest: Manifest) {
      const refs = shardsOf(manifest);
      const parts = await forEach(refs, openPart);
      const naming = {
        fingerprintOf: (id: string) => fingerprint(shards.head.keys.id, id),
        partOf: (bytes: Uint8Array) => shardOf(refs, bytes),
      };
      const byLeaves =
        searchShards && searchByLeaves(searchShards, { ...shards.addressed(manifest), namespace }, parts);
      return new CombinedSnapshot(manifest, parts, naming, cache, byLeaves);
    },
    release: (snapshot) => snapshot.cache.close(),
    model: () => Promise.reject(new SealdexError("internal", "collection: models are those of its shards")),
    dropModel: () => undefined,
  };
}
