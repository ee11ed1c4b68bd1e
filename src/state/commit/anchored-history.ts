/**
 * Anchors: the newest one is kept in a location of its own, which an attacker who controls the storage of the index does not
 * control. Manifests that storage shows must descend from it, so that a rollback to an older state, or a switch to another history, is
 * detected.
 *
 * Anchors are write-once blobs like everything else, so every driver can keep them, and of two histories with
 * the same version only one can be anchored. A name has generations: an index that is created after another of the same name was deleted
 * begins the next one, and a deletion ends its own by an empty mark.
 */

import { generationOf, openObject, sealObject } from "../../crypto/sealed-object.js";
import { signatureBytes } from "../../crypto/signing.js";
import { SealdexError } from "../../errors.js";
import type { BlobStore } from "../../storage/blob-store.js";
import type { Anchor } from "./anchor.js";
import { createConfirmed } from "./create-confirmed.js";
import type { IndexIdentity } from "./index-folder.js";
import { readObject } from "./read-object.js";
import { anchorName, parseAnchorName, anchorPrefix, deletedIndexId } from "./object-names.js";
import type { Manifest } from "./manifest.js";
import type { SealedManifest } from "./stored-manifest.js";

/** Anchors of older versions that stay: a writer that was suspended learns the outcome of its version. */
const keptVersions = 64;
/** Old anchors are deleted together, once per this many versions. */
const pruneEvery = 64;
const locateAttemptsMax = 3;
const digestBytes = 32;
const signatureLabel = "sealdex/1/anchor";

/** Keeps the newest anchor of one index. `AnchorStore` does so in a location, a collection in its manifests. */
export interface Anchors {
  /** Undefined if none was kept yet. */
  newest(): Promise<Anchor | undefined>;
  /** Anchors a commit under this generation of keys. Throws `rollback_detected` if another history has its version. */
  advance(
    state: Omit<Anchor, "indexId"> & { readonly previous: string },
    keyGeneration: number,
  ): Promise<void>;
  /** Marks the index as deleted. */
  end(): Promise<void>;
}

export class AnchorStore implements Anchors {
  readonly #store: BlobStore;
  readonly #identity: IndexIdentity;
  #generation: number | undefined;
  #newest: Anchor | undefined;

  constructor(store: BlobStore, identity: IndexIdentity) {
    this.#store = store;
    this.#identity = identity;
  }

  /**
   * The newest anchor of this index; undefined if none was kept yet. Throws `rollback_detected` if the index was deleted, or if
   * an index that was created later has its name.
   */
  async newest(): Promise<Anchor | undefined> {
    for (let attempt = 1; attempt <= locateAttemptsMax; attempt++) {
      const [name] = await this.#store.list(anchorPrefix(this.#identity.indexName), { limit: 1 });
      if (name === undefined) return undefined;
      const { indexId, generation, version } = parseAnchorName(name);
      if (!this.#isOurs(indexId)) return this.#notOurs(indexId);
      this.#generation = generation;
      if (this.#newest !== undefined && this.#newest.version >= version) return this.#newest;
      const digest = await this.#read(name);
      // Deleted since it was listed: then there is a newer one.
      if (digest === undefined) continue;
      return this.#keep({ indexId, version, digest });
    }
    throw new SealdexError(
      "storage_unavailable",
      `index "${this.#identity.indexName}": its anchors change too fast`,
    );
  }

  /** Anchors a manifest that was committed under this generation of keys. Throws `rollback_detected` if another history has this version. */
  async advance({ version, digest }: Omit<Anchor, "indexId">, keyGeneration: number): Promise<void> {
    const { indexId, indexName, keys } = this.#identity;
    if (this.#generation === undefined) await this.newest();
    const generation = (this.#generation ??= (await this.#latestGeneration()) + 1);
    const name = anchorName(indexName, { generation, indexId, version });
    const signed = signedMessage(name, Buffer.from(digest, "hex"));
    const plaintext = Buffer.concat([
      keys.sign(signatureLabel, signed, keyGeneration),
      Buffer.from(digest, "hex"),
    ]);
    const parents = { generation: keyGeneration, key: keys.data.key };
    const bytes = sealObject(parents, { kind: "anchor", indexId, name }, plaintext);
    if (!(await createConfirmed(this.#store, name, bytes))) {
      const anchored = await this.#read(name);
      if (anchored !== undefined && anchored !== digest) {
        throw new SealdexError(
          "rollback_detected",
          `index "${indexName}": version ${version} of another history is anchored`,
        );
      }
    }
    this.#keep({ indexId, version, digest });
    if (version % pruneEvery === 0) await this.#prune(generation, version - keptVersions);
  }

  /** Marks the index as deleted. */
  async end(): Promise<void> {
    const { indexName } = this.#identity;
    const generation = (await this.#latestGeneration()) + 1;
    await this.#store.create(
      anchorName(indexName, { generation, indexId: deletedIndexId, version: 1 }),
      new Uint8Array(0),
    );
  }

  /** An index without anchors may follow one that was deleted; one that had anchors in an older generation may not. */
  async #notOurs(newestId: Uint8Array): Promise<undefined> {
    const { indexName } = this.#identity;
    const names = await this.#store.list(anchorPrefix(indexName));
    const wasHere = names.some((name) => this.#isOurs(parseAnchorName(name).indexId));
    if (!wasHere && Buffer.compare(newestId, deletedIndexId) === 0) return undefined;
    throw new SealdexError(
      "rollback_detected",
      `index "${indexName}": ${wasHere ? "it was deleted" : "another index of this name is anchored"}`,
    );
  }

  async #latestGeneration(): Promise<number> {
    const [name] = await this.#store.list(anchorPrefix(this.#identity.indexName), { limit: 1 });
    return name === undefined ? 0 : parseAnchorName(name).generation;
  }

  /** Deletes the anchors of this index before `version`, oldest first. */
  async #prune(generation: number, version: number): Promise<void> {
    const { indexId, indexName } = this.#identity;
    const after = anchorName(indexName, { generation, indexId, version });
    const older = await this.#store.list(anchorPrefix(indexName), { after });
    await this.#store.delete(older.filter((name) => this.#isOurs(parseAnchorName(name).indexId)).reverse());
  }

  /** Throws `corrupt` unless a writer made it whose keys were in force then. */
  async #read(name: string): Promise<string | undefined> {
    const { indexId, indexName, keys, renewKeys } = this.#identity;
    const bytes = await readObject(this.#store, "anchor", name);
    if (bytes === null) return undefined;
    const generation = generationOf(bytes);
    if (!keys.has(generation)) await renewKeys(generation);
    const plaintext = Buffer.from(openObject(keys.data, { kind: "anchor", indexId, name }, bytes));
    const [signature, digest] = [plaintext.subarray(0, signatureBytes), plaintext.subarray(signatureBytes)];
    const isSigned =
      digest.length === digestBytes &&
      keys.isSigned(generation, signatureLabel, signedMessage(name, digest), signature);
    if (isSigned && keys.counts(generation, parseAnchorName(name).version)) return digest.toString("hex");
    throw new SealdexError("corrupt", `index "${indexName}": its anchor was not made by a writer of it`);
  }

  #keep(anchor: Anchor): Anchor {
    if (this.#newest === undefined || anchor.version > this.#newest.version) this.#newest = anchor;
    return this.#newest;
  }

  #isOurs(indexId: Uint8Array): boolean {
    return Buffer.compare(indexId, this.#identity.indexId) === 0;
  }
}

/** The name has the index and the version: an anchor passes for no other. */
function signedMessage(name: string, digest: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(name, "utf8"), digest]);
}

/** Manifests read at once along the chain. */
const readAtOnce = 16;
/** Digests kept of a proven chain: an anchor is rarely further behind than that. */
const keptDigests = 256;

export class AnchoredHistory {
  readonly #indexName: string;
  readonly #store: Anchors | undefined;
  readonly #expected: Anchor | undefined;
  /** Digests by version of manifests that descend from every anchor seen so far. */
  readonly #proven = new Map<number, string>();

  /** `store` keeps the newest anchor; `expected` is the caller's own. */
  constructor(
    { indexName, indexId }: IndexIdentity,
    store: Anchors | undefined,
    expected: Anchor | undefined,
  ) {
    this.#indexName = indexName;
    this.#store = store;
    this.#expected = expected;
    if (expected !== undefined && Buffer.compare(expected.indexId, indexId) !== 0) {
      throw this.#rolledBack("the anchor is of another index");
    }
  }

  /** The newest anchor that is known now. Throws as `AnchorStore.newest` does. */
  async anchor(): Promise<Anchor | undefined> {
    const expected = this.#expected;
    const kept = await this.#store?.newest();
    const isNewer = expected !== undefined && (kept === undefined || expected.version > kept.version);
    return isNewer ? expected : kept;
  }

  /**
   * Throws `rollback_detected` unless `newest` is the manifest of `anchor` and of the caller's own, or descends from them. `read`
   * returns a manifest by its version, null if there is none. Below the history watermark of `newest` manifests may have been
   * deleted: there, an anchor's version alone counts if its manifest is gone.
   */
  async check(
    newest: SealedManifest,
    anchor: Anchor | undefined,
    read: (version: number) => Promise<SealedManifest | null>,
  ): Promise<void> {
    const { version, history } = newest.manifest;
    // Neither implies the other: they may be of different histories.
    const anchors = [anchor, this.#expected].filter((one) => one !== undefined);
    for (const anchored of anchors) {
      if (version < anchored.version) {
        throw this.#rolledBack(
          `storage shows version ${version}, but version ${anchored.version} is anchored`,
        );
      }
      if (!this.#isProvenAs(anchored.version, anchored.digest)) throw this.#forked(anchored.version);
    }
    const versions = this.#unproven(newest.manifest, anchors);
    for (let some = firstOf(versions); some.length > 0; some = firstOf(versions)) {
      const manifests = await Promise.all(some.map(read));
      for (const [i, next] of manifests.entries()) {
        if (next !== null) this.#prove(next, anchors);
        else if (some[i] >= history.floor) throw this.#rolledBack("its history has a gap");
      }
    }
    this.#prove(newest, anchors);
  }

  /** Anchors a manifest that this process committed. */
  async committed({ manifest, digest }: SealedManifest): Promise<void> {
    const { version, previous, keyGeneration } = manifest;
    await this.#store?.advance({ version, previous, digest }, keyGeneration);
    if (this.#proven.get(version - 1) === previous) this.#prove({ manifest, digest }, []);
  }

  /** Marks the index as deleted. */
  async end(): Promise<void> {
    await this.#store?.end();
  }

  /**
   * The versions to read before the newest: those after the proven ones, or from the oldest anchor. Of those that may be gone,
   * the anchored ones alone.
   */
  *#unproven({ version, history }: Manifest, anchors: readonly Anchor[]): Generator<number, void, void> {
    const anchored = anchors.map((anchor) => anchor.version);
    const proven = Math.max(0, ...this.#proven.keys());
    const from = proven > 0 ? proven + 1 : Math.min(version, ...anchored);
    const kept = Math.max(from, history.floor);
    yield* anchored.filter((one) => one >= from && one < kept);
    // One by one: a manifest may say that there are any number, and the first that is missing ends the search.
    for (let one = kept; one < version; one++) yield one;
  }

  #prove(
    { manifest: { version, previous }, digest }: Pick<SealedManifest, "manifest" | "digest">,
    anchors: readonly Anchor[],
  ): void {
    const isAnchored = anchors.every((anchor) => anchor.version !== version || anchor.digest === digest);
    const isChained = this.#isProvenAs(version, digest) && this.#isProvenAs(version - 1, previous);
    if (!isAnchored || !isChained) throw this.#forked(version);
    this.#proven.set(version, digest);
    const [oldest] = this.#proven.keys();
    if (this.#proven.size > keptDigests) this.#proven.delete(oldest);
  }

  /** Whether no other digest of this version is proven. */
  #isProvenAs(version: number, digest: string): boolean {
    return (this.#proven.get(version) ?? digest) === digest;
  }

  #forked(version: number): SealdexError {
    return this.#rolledBack(`version ${version} belongs to another history`);
  }

  #rolledBack(what: string): SealdexError {
    return new SealdexError("rollback_detected", `index "${this.#indexName}": ${what}`);
  }
}

/** Those that are read at once. */
function firstOf(versions: Iterator<number, void, void>): number[] {
  const some: number[] = [];
  while (some.length < readAtOnce) {
    const { done, value } = versions.next();
    if (done === true) break;
    some.push(value);
  }
  return some;
}
