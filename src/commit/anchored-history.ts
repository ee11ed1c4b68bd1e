/**
 * Proves that the manifests which storage shows descend from an anchor, so that a rollback to an older state, or a switch to
 * another history, is detected.
 */

import { SealdexError } from "../errors.js";
import type { Anchor } from "./anchor.js";
import type { AnchorStore } from "./anchor-store.js";
import type { SealedManifest } from "./manifest.js";
import type { IndexIdentity } from "./index-identity.js";

/** Manifests read at once along the chain. */
const readAtOnce = 16;
/** Digests kept of a proven chain: an anchor is rarely further behind than that. */
const keptDigests = 256;

export class AnchoredHistory {
  readonly #indexName: string;
  readonly #store: AnchorStore | undefined;
  readonly #expected: Anchor | undefined;
  /** Digests by version, without gaps, of manifests that descend from every anchor seen so far. */
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
    const kept = await this.#store?.newest();
    return kept === undefined || this.#isNewer(this.#expected, kept) ? this.#expected : kept;
  }

  /**
   * Throws `rollback_detected` unless `newest` is the anchored manifest or descends from it. `read` returns a manifest by its
   * version, null if there is none. Manifests below the history watermark of `newest` may have been deleted: then its version
   * alone counts.
   */
  async check(
    newest: SealedManifest,
    anchor: Anchor | undefined,
    read: (version: number) => Promise<SealedManifest | null>,
  ): Promise<void> {
    const { version } = newest.manifest;
    if (anchor !== undefined && version < anchor.version) {
      throw this.#rolledBack(`storage shows version ${version}, but version ${anchor.version} is anchored`);
    }
    if (anchor !== undefined && (this.#proven.get(anchor.version) ?? anchor.digest) !== anchor.digest) {
      throw this.#rolledBack(`version ${anchor.version} belongs to another history`);
    }
    const from = this.#start(anchor, version);
    let before: SealedManifest | undefined;
    for (let start = from; start < version; start += readAtOnce) {
      const count = Math.min(readAtOnce, version - start);
      const manifests = await Promise.all(Array.from({ length: count }, (_, i) => read(start + i)));
      for (const [i, next] of manifests.entries()) {
        if (next === null) {
          if (start + i >= newest.manifest.history.floor) throw this.#rolledBack("its history has a gap");
          this.#proven.clear();
          before = undefined;
        } else {
          this.#prove(next, before, anchor);
          before = next;
        }
      }
    }
    this.#prove(newest, before, anchor);
  }

  /** Anchors a manifest that this process committed. */
  async committed(sealed: SealedManifest): Promise<void> {
    await this.#store?.advance({ version: sealed.manifest.version, digest: sealed.digest });
  }

  /** Marks the index as deleted. */
  async end(): Promise<void> {
    await this.#store?.end();
  }

  /** The version from which the chain has to be read: the first that is not proven, or the anchored one. */
  #start(anchor: Anchor | undefined, newest: number): number {
    const proven = Math.max(0, ...this.#proven.keys());
    return proven > 0 ? proven + 1 : (anchor?.version ?? newest);
  }

  #prove(
    { manifest, digest }: SealedManifest,
    before: SealedManifest | undefined,
    anchor: Anchor | undefined,
  ): void {
    const { version, previous } = manifest;
    const known = this.#proven.get(version) ?? (anchor?.version === version ? anchor.digest : undefined);
    const isChained = before === undefined || previous === before.digest;
    const follows = this.#proven.get(version - 1);
    if (
      (known !== undefined && known !== digest) ||
      !isChained ||
      (follows !== undefined && follows !== previous)
    ) {
      throw this.#rolledBack(`version ${version} belongs to another history`);
    }
    this.#proven.set(version, digest);
    const [oldest] = this.#proven.keys();
    if (this.#proven.size > keptDigests) this.#proven.delete(oldest);
  }

  #isNewer(expected: Anchor | undefined, kept: Anchor): boolean {
    return expected !== undefined && expected.version > kept.version;
  }

  #rolledBack(what: string): SealdexError {
    return new SealdexError("rollback_detected", `index "${this.#indexName}": ${what}`);
  }
}
