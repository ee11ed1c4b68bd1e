/**
 * Which manifest of an index is the newest.
 *
 * Manifests are deleted in ascending order, so as long as one exists, none after it is gone. A manifest that is found, or found
 * absent, after a remembered manifest counts only if that manifest is seen in storage afterwards: otherwise a deleted
 * manifest would pass for one not yet written. The check is skipped while the memory is fresh, since manifests stay for
 * `historyMs`.
 */

import { generationOf, headerBytes } from "../../crypto/sealed-object.js";
import { SealdexError } from "../../errors.js";
import { absenceCheckOf } from "../../storage/absence.js";
import type { BlobStore } from "../../storage/blob-store.js";
import type { AnchoredHistory } from "./anchored-history.js";
import { type Clock, elapsedMs, type Instant, instant } from "./clock.js";
import type { IndexIdentity, ListedObjects } from "./index-folder.js";
import type { Manifest } from "./manifest.js";
import { isNumbered, manifestName, manifestPrefix, numberOf } from "./object-names.js";
import { readObject } from "./read-object.js";
import { historyMs } from "./retention.js";
import { openManifest, type SealedManifest } from "./stored-manifest.js";

/** Manifests read at once when catching up: 1, 2, 4, … and then the list is read. */
const aheadMax = 16;
const locateAttemptsMax = 3;
const freshMs = historyMs / 4;

/** A manifest that was the newest. */
export interface SeenManifest {
  readonly sealed: SealedManifest;
  /** When it was. */
  readonly at: Instant;
}

export class ManifestReader {
  readonly #store: BlobStore;
  readonly #isAbsent: ((key: string) => boolean) | undefined;
  readonly #index: IndexIdentity;
  readonly #clock: Clock;
  readonly #history: AnchoredHistory | undefined;
  #known: SeenManifest | undefined;
  /** The name that `#nameAfter` gave last: every query needs it. */
  #next = { version: 0, name: "" };

  /** `history`: the manifests in storage must descend from its anchors. */
  constructor(store: BlobStore, index: IndexIdentity, clock: Clock, history?: AnchoredHistory) {
    this.#store = store;
    this.#isAbsent = absenceCheckOf(store);
    this.#index = index;
    this.#clock = clock;
    this.#history = history;
  }

  /** The newest manifest that was seen here. */
  get known(): SeenManifest | undefined {
    return this.#known;
  }

  /**
   * The newest manifest: from storage, or from `listed`, which may miss later commits. Throws
   * `rollback_detected` if it is not a successor of the known one.
   */
  async newest(listed?: ListedObjects): Promise<SeenManifest> {
    const history = this.#history;
    if (history === undefined) return this.remember(await this.#catchUp(listed));
    const finding = this.#catchUp(listed);
    const anchoring = history.anchor().catch(async (error: unknown) => {
      // No rollback, if storage shows that the index was deleted as well.
      if ((await finding).sealed.manifest.dropped) return undefined;
      throw error;
    });
    const [anchor, found] = await Promise.all([anchoring, finding]);
    // The anchor may be of a commit made between the two reads.
    const isBehind = anchor !== undefined && anchor.version > found.sealed.manifest.version;
    const seen = isBehind ? await this.#catchUp() : found;
    await history.check(seen.sealed, anchor, (version) => this.read(version));
    return this.remember(seen);
  }

  /** As `newest`, if that is the known one and storage can tell without waiting; else undefined. */
  newestNow(): SeenManifest | undefined {
    const known = this.#known;
    if (this.#isAbsent === undefined || this.#history !== undefined || known === undefined) return undefined;
    if (!this.isFresh(known)) return undefined;
    const at = instant(this.#clock);
    const { sealed } = known;
    if (!this.#isAbsent(this.#nameAfter(sealed))) return undefined;
    return this.remember({ sealed, at });
  }

  #nameAfter({ manifest: { version } }: SealedManifest): string {
    if (this.#next.version !== version + 1) {
      this.#next = { version: version + 1, name: manifestName(this.#index.indexId, version + 1) };
    }
    return this.#next.name;
  }

  async #catchUp(listed?: ListedObjects): Promise<SeenManifest> {
    const base = this.#known;
    if (base === undefined) return (await this.#newestListed(listed)) ?? this.locate();
    let { sealed } = base;
    for (let ahead = 1; ; ahead *= 2) {
      if (ahead > aheadMax) return this.locate(base);
      const at = instant(this.#clock);
      const from = sealed.manifest.version + 1;
      // Most reads ask for one, and a list of one would make four promises more.
      for (const next of ahead === 1 ? [await this.read(from)] : await this.#readFrom(from, ahead)) {
        if (next !== null && this.#isSuccessor(next, sealed)) {
          sealed = next;
          continue;
        }
        // The manifest that was read first names its successor for ever, however long ago that was. Later ones may have been left by a suspended writer.
        if (next !== null && sealed === base.sealed) throw this.#replaced();
        if (!this.isFresh(base) && !(await this.isStillStored(base.sealed))) return this.locate(base, true);
        if (next !== null) throw this.#replaced();
        return { sealed, at };
      }
    }
  }

  /** A manifest by its number; null if it was deleted, or never was. */
  async read(version: number): Promise<SealedManifest | null> {
    const { indexId, keys } = this.#index;
    const name = manifestName(indexId, version);
    if (this.#isAbsent?.(name)) return null;
    const bytes = await readObject(this.#store, "manifest", name);
    if (bytes === null) return null;
    const generation = generationOf(bytes);
    if (!keys.has(generation)) await this.#index.renewKeys(generation);
    return openManifest(keys, indexId, version, bytes);
  }

  /** Remembers a manifest that is the newest. Returns the known one, which another call may have advanced. */
  remember(seen: SeenManifest): SeenManifest {
    const known = this.#known;
    if (known !== undefined && seen.sealed.manifest.version < known.sealed.manifest.version) return known;
    this.#index.keys.advance(seen.sealed.manifest.keyGeneration);
    this.#known = seen;
    return seen;
  }

  /** Whether no manifest after this one can have been deleted yet. */
  isFresh({ at }: SeenManifest): boolean {
    return elapsedMs(this.#clock, at) < freshMs;
  }

  /** Whether this manifest is stored under its number now. Its header tells it from all others, by random bytes. */
  async isStillStored({ manifest, bytes }: SealedManifest): Promise<boolean> {
    const name = manifestName(this.#index.indexId, manifest.version);
    const header = await this.#store.read(name, { offset: 0, length: headerBytes });
    return header !== null && Buffer.compare(header, bytes.subarray(0, headerBytes)) === 0;
  }

  /** The first of the list, which is the newest. It cannot be older than the one that was the newest before. `isGone`: that is not stored any more. */
  async locate(before?: SeenManifest, isGone = false): Promise<SeenManifest> {
    for (let attempt = 1; attempt <= locateAttemptsMax; attempt++) {
      const at = instant(this.#clock);
      const name = await this.#newestName();
      if (name === undefined) break;
      const sealed = await this.read(numberOf(name));
      // Deleted since it was listed: then there is a newer one.
      if (sealed === null) continue;
      const isNext =
        before === undefined ? this.#hasKeys(sealed) : this.#follows(sealed, before.sealed, isGone);
      if (!isNext) throw this.#replaced();
      return { sealed, at };
    }
    throw new SealdexError("missing_object", `index "${this.#index.indexName}": its manifests are gone`);
  }

  /** The newest of those that were listed; undefined if there are none, or it was deleted, or keys changed, since then. */
  async #newestListed(listed: ListedObjects | undefined): Promise<SeenManifest | undefined> {
    const prefix = manifestPrefix(this.#index.indexId);
    const name = listed?.names.find((one) => isNumbered(one, prefix));
    if (listed === undefined || name === undefined) return undefined;
    const sealed = await this.read(numberOf(name));
    return sealed === null || !this.#hasKeys(sealed) ? undefined : { sealed, at: listed.at };
  }

  /** The record that was opened is in force, so the newest manifest has its keys, or later ones. Whose access was revoked signs none. */
  #hasKeys({ manifest: { version, keyGeneration } }: SealedManifest): boolean {
    const { keys } = this.#index;
    const isOld = keyGeneration < keys.generation || version < (keys.since ?? 0);
    return !isOld && keys.counts(keyGeneration, version);
  }

  async #newestName(): Promise<string | undefined> {
    const prefix = manifestPrefix(this.#index.indexId);
    const [first] = await this.#store.list(prefix, { limit: 1 });
    if (first === undefined || isNumbered(first, prefix)) return first;
    // Foreign objects are skipped.
    return (await this.#store.list(prefix)).find((name) => isNumbered(name, prefix));
  }

  async #readFrom(version: number, count: number): Promise<(SealedManifest | null)[]> {
    return Promise.all(Array.from({ length: count }, (_, i) => this.read(version + i)));
  }

  #replaced(): SealdexError {
    return new SealdexError(
      "rollback_detected",
      `index "${this.#index.indexName}": its history was replaced`,
    );
  }

  /** Whether a manifest is the one after another. Keys that were replaced commit nothing more. */
  #isSuccessor({ manifest }: SealedManifest, before: SealedManifest): boolean {
    return manifest.previous === before.digest && this.#hasKeysAfter(manifest, before.manifest);
  }

  /** Whether the newest manifest can be a successor of an earlier newest one, which may be gone once it is below the floor. */
  #follows({ manifest, digest }: SealedManifest, before: SealedManifest, isGone: boolean): boolean {
    const { version } = before.manifest;
    if (manifest.version === version) return digest === before.digest;
    if (isGone && manifest.history.floor <= version) return false;
    return manifest.version > version && this.#hasKeysAfter(manifest, before.manifest);
  }

  #hasKeysAfter({ version, keyGeneration }: Manifest, before: Manifest): boolean {
    return keyGeneration >= before.keyGeneration && this.#index.keys.counts(keyGeneration, version);
  }
}
