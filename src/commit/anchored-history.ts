/**
 * Proves that the manifests which storage shows descend from an anchor, so that a rollback to an older state, or a switch to
 * another history, is detected.
 */

import { SealdexError } from "../errors.js";
import type { Anchor } from "./anchor.js";
import type { AnchorStore } from "./anchor-store.js";
import type { Manifest } from "./manifest.js";
import type { SealedManifest } from "./stored-manifest.js";
import type { IndexIdentity } from "./index-identity.js";

/** Manifests read at once along the chain. */
const readAtOnce = 16;
/** Digests kept of a proven chain: an anchor is rarely further behind than that. */
const keptDigests = 256;

export class AnchoredHistory {
  readonly #indexName: string;
  readonly #store: AnchorStore | undefined;
  readonly #expected: Anchor | undefined;
  /** Digests by version of manifests that descend from every anchor seen so far. */
  readonly #proven = new Map<number, string>();

  /** `store` keeps the newest anchor; `expected` is the caller's own. */
  constructor(
    { indexName, indexId }: IndexIdentity,
    store: AnchorStore | undefined,
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
  async committed({ manifest: { version, keyGeneration }, digest }: SealedManifest): Promise<void> {
    await this.#store?.advance({ version, digest }, keyGeneration);
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

  #prove({ manifest: { version, previous }, digest }: SealedManifest, anchors: readonly Anchor[]): void {
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
