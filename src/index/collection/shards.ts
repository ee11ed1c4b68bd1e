/**
 * The shards of a collection: ordinary indexes, under names that no caller can give, with keys derived from a secret of the collection.
 *
 * The manifests of the collection, its head, name one state of each shard. They are the anchors of the shards: a commit to a shard is
 * acknowledged once the head names it, and no shard is read or continued at a state that does not descend from the one that the head names.
 */

import type { KeyObject } from "node:crypto";
import { memoize } from "../../async/memoize.js";
import { createSemaphore } from "../../async/semaphore.js";
import { deriveShardKey } from "../../crypto/keys.js";
import { SealdexError } from "../../errors.js";
import type { ShardAddress } from "../../query/shard-search.js";
import type { Anchor } from "../../state/commit/anchor.js";
import type { Anchors } from "../../state/commit/anchored-history.js";
import { type Manifest, type ShardRef } from "../../state/commit/manifest.js";
import { openIndex, plainIndex } from "../open/assemble.js";
import type { ClientResources, ClientStores } from "../open/client-resources.js";
import type { OpenIndex } from "../open/open-index.js";
import { findShard } from "./find-shard.js";

/** Shards at which one call works at a time. */
const together = 32;

/** The results of `work` on each of these shards, in any form. If it fails for one, this throws when it is done with all. */
export async function forEach<S, T>(shards: readonly S[], work: (shard: S) => Promise<T>): Promise<T[]> {
  const inTurn = createSemaphore(together);
  const results = await Promise.allSettled(shards.map((shard) => inTurn(() => work(shard))));
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

export class Shards {
  readonly head: OpenIndex;
  readonly #stores: ClientStores;
  readonly #resources: ClientResources;
  /** By index id. */
  readonly #open = new Map<string, Promise<OpenIndex>>();
  /** Of the manifest whose keys are known. */
  #secrets: readonly KeyObject[] = [];
  /** By the beginning of the shard. */
  readonly #keys = new Map<number, readonly KeyObject[]>();
  /** The manifest that was read last, by index id. */
  readonly #states = new Map<string, { readonly digest: string; readonly manifest: Manifest }>();

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
    return memoize(this.#open, ref.indexId, () => this.#find(ref));
  }

  /** The state of a shard that the head names. */
  async manifestOf(shard: OpenIndex, ref: ShardRef): Promise<Manifest> {
    const known = this.#states.get(ref.indexId);
    if (known?.digest === ref.digest) return known.manifest;
    const manifest = await shard.log.manifestOf(ref);
    this.#states.set(ref.indexId, { digest: ref.digest, manifest });
    return manifest;
  }

  /** The results of `work` on these shards, or on all. If it fails for one, it throws when it is done with all. */
  async each<T>(
    work: (shard: OpenIndex, position: number) => Promise<T>,
    positions?: Iterable<number>,
  ): Promise<T[]> {
    const refs = await this.refs();
    return forEach([...(positions ?? refs.keys())], async (position) =>
      work(await this.open(refs[position]), position),
    );
  }

  /** The shards as leaves find them. */
  addresses(manifest: Manifest): ShardAddress[] {
    return shardsOf(manifest).map((ref) => ({ ...ref, keys: this.#keysOf(ref, manifest) }));
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

  async #find(ref: ShardRef): Promise<OpenIndex> {
    const { head } = this;
    const keys = this.#keysOf(ref, await head.log.knownOrNewest());
    const { name, opened } = await findShard(this.#stores, head.indexId, ref, keys);
    opened.keys.nameAs(head.keys);
    const anchors = new HeadAnchors(head, ref.indexId, (version) => shard.log.manifestAt(version));
    const shard = openIndex(name, opened, this.#stores, this.#resources, {
      ...plainIndex,
      anchors,
      head,
    });
    return shard;
  }
}

export function shardsOf({ shards = [] }: Manifest): readonly ShardRef[] {
  return shards;
}

export function sumOf<T>(all: readonly T[], numberOf: (one: T) => number): number {
  return all.reduce((sum, one) => sum + numberOf(one), 0);
}

/** The position of the shard that has an item: by the last word of its fingerprint, which is keyed, so that storage learns nothing of ids. */
export function shardOf(shards: readonly ShardRef[], fingerprint: Uint8Array): number {
  const hash = Buffer.from(fingerprint).readUInt32LE(fingerprint.length - 4);
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
      const named = await this.newest();
      if (named.version === version && named.digest === digest) return;
      const isNewer = named.version > version;
      const isProven = isNewer
        ? (await this.#read(version + 1))?.previous === digest
        : await this.#descends({ version, previous }, named);
      if (!isProven) throw this.#forked(version);
      if (isNewer) return;
      const committed = await this.#head.log.commit((latest) => {
        const now = this.#in(latest);
        if (now.version !== named.version || now.digest !== named.digest) return null;
        const moved = shardsOf(latest).map((ref) =>
          ref.indexId === this.#indexId ? { ...ref, version, digest } : ref,
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

  #in(manifest: Manifest): Anchor {
    const ref = shardsOf(manifest).find(({ indexId }) => indexId === this.#indexId);
    if (ref === undefined) throw this.#forked(0);
    return { indexId: Buffer.from(ref.indexId, "hex"), version: ref.version, digest: ref.digest };
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
