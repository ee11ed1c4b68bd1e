/** Searches shards for routers and keeps them open. A shard answers at the state that a router names: storage is not asked for a newer one. */

import type { KeyObject } from "node:crypto";
import type { Client } from "../../api/vector-index.js";
import { plainResults } from "../../api/served-index.js";
import { memoize } from "../../async/memoize.js";
import { settleEach } from "../../async/settle-each.js";
import { run } from "../../engine/threads/run.js";
import { partsTogether } from "../../query/combined-snapshot.js";
import { nearest } from "../../query/query.js";
import {
  type CollectionNaming,
  foundRows,
  type ShardAddress,
  type ShardRow,
  type ShardSearch,
} from "../../query/shard-search.js";
import type { Snapshot } from "../../query/snapshot/snapshot.js";
import { openIndex } from "../open/assemble.js";
import { hasDimension } from "../open/dimension.js";
import type { EmbeddedClient } from "../embedded-client.js";
import { withinRows } from "../query-vectors.js";
import type { SearchTarget } from "../open/namespace-scopes.js";
import type { OpenIndex } from "../open/open-index.js";
import type { Manifest } from "../../state/commit/manifest.js";
import { findShard, isWrongKeyError } from "./find-shard.js";

interface OpenShard {
  readonly index: OpenIndex;
  /** That opened it. */
  readonly key: KeyObject;
  /** In milliseconds since 1970. */
  usedAt: number;
}

interface ShardState {
  readonly index: OpenIndex;
  readonly manifest: Manifest;
}

export class Leaf {
  readonly #client: EmbeddedClient;
  /** By index id. */
  readonly #open = new Map<string, Promise<OpenShard>>();

  /** `client` must be an embedded client of this package. */
  constructor(client: Client) {
    this.#client = client as Client & EmbeddedClient;
  }

  /**
   * The nearest rows of each shard for each vector, nearest first. Throws `wrong_index_key`, `dimension_mismatch`, and
   * `missing_object` for states whose objects were deleted, which storage keeps for 15 minutes.
   */
  search(
    search: ShardSearch,
    shards: readonly ShardAddress[],
    signal: AbortSignal | undefined,
  ): Promise<ShardRow[][][]> {
    const { vectors, topK, effort, filter } = search;
    const query = { ...plainResults, topK, effort, signal, include: noFields, filter };
    return this.#client.during(signal, () =>
      settleEach(shards, partsTogether(vectors), async (shard) => {
        const { searcher, snapshot } = await this.#stateOf(search, shard);
        snapshot.uses++;
        try {
          const found = await run(nearest(searcher, snapshot, vectors, withinRows(snapshot, query)), signal);
          return found.map(foundRows);
        } finally {
          snapshot.uses--;
        }
      }),
    );
  }

  /** Closes shards that no router has asked for since this time, in milliseconds since 1970, and forgets their keys. */
  async dropUnused(since: number): Promise<void> {
    for (const [indexId, opening] of this.#open) {
      // One that fails to open is forgotten.
      const shard = await opening.catch(() => undefined);
      if (shard !== undefined && shard.usedAt < since) this.#open.delete(indexId);
    }
  }

  async #stateOf(
    { collection, namespace, vectors }: ShardSearch,
    shard: ShardAddress,
  ): Promise<Pick<SearchTarget, "searcher"> & { readonly snapshot: Snapshot }> {
    const { index, manifest } = await this.#find(collection, shard);
    const { searcher, snapshots } = namespace === undefined ? index : index.scopes.of(namespace);
    const snapshot = await snapshots.at(manifest);
    hasDimension(index, snapshot, vectors[0], "batch.vectors_b64");
    return { searcher, snapshot };
  }

  /** The keys are compared each time: they are the router's right to read. */
  async #find(collection: CollectionNaming, shard: ShardAddress): Promise<ShardState> {
    const known = await memoize(this.#open, shard.indexId, () => this.#load(collection, shard));
    const { id, namespaceName } = collection.keys;
    const { keys } = known.index;
    const isNamedAlike = keys.id.equals(id) && keys.namespaceName.equals(namespaceName);
    if (isNamedAlike && shard.keys.some((key) => key.equals(known.key))) {
      try {
        return await this.#stateIn(known, shard);
      } catch (error) {
        if (!isWrongKeyError(error)) throw error;
      }
    }
    // The key may have been rotated.
    const loaded = await this.#load(collection, shard);
    this.#open.set(shard.indexId, Promise.resolve(loaded));
    return this.#stateIn(loaded, shard);
  }

  async #stateIn(opened: OpenShard, shard: ShardAddress): Promise<ShardState> {
    opened.usedAt = this.#client.clock.wall();
    const { index } = opened;
    return { index, manifest: await index.log.manifestOf(shard) };
  }

  async #load({ id, keys }: CollectionNaming, shard: ShardAddress): Promise<OpenShard> {
    const { stores, resources } = this.#client;
    const { name, opened, key } = await findShard(stores, Buffer.from(id, "hex"), shard, shard.keys);
    opened.keys.nameAs(keys);
    const index = openIndex(name, opened, { ...stores, anchorStore: undefined }, resources);
    return { index, key, usedAt: 0 };
  }
}

const noFields: ReadonlySet<never> = new Set();
