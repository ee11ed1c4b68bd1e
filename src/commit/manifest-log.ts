/**
 * The sequence of an index's manifests: which is the newest, and how the next one comes to be.
 *
 * Manifests are deleted in ascending order, so as long as one is there, none after it is gone. What is found, or found
 * absent, after a remembered manifest counts only if that manifest is seen there afterwards: otherwise a deleted
 * manifest would pass for one not yet written, and a writer that slept would commit where nobody looks. The look is spared
 * while memory is fresh, since manifests stay for `historyMs`.
 */

import type { IndexKeys } from "../crypto/keys.js";
import { SealdexError } from "../errors.js";
import type { BlobStore } from "../storage/blob-store.js";
import { type Clock, elapsedMs, type Instant, instant } from "./clock.js";
import { createConfirmed } from "./create-confirmed.js";
import { historyMs, advanceWatermark, uploadMs } from "./retention.js";
import { applyChanges, type Change, type Pending } from "./group-commit.js";
import { emptyManifest, type Manifest, openManifest, type SealedManifest, sealManifest } from "./manifest.js";
import { isNumbered, manifestName, manifestPrefix, numberOf } from "./object-names.js";

/** Manifests read at once when catching up: 1, 2, 4, … and then the list is asked. */
const aheadMax = 16;
const contentionPauseMsMax = 50;
const locateAttemptsMax = 3;
const freshMs = historyMs / 4;
/** How long a commit builds on what is known without asking: after that, others have probably written. */
const optimisticMs = 10_000;

/** A manifest that was the newest. */
interface Tail {
  readonly sealed: SealedManifest;
  /** When it was. */
  readonly at: Instant;
}

/** Whose manifests they are, and with which key they were opened. */
export interface IndexIdentity {
  readonly indexName: string;
  readonly indexId: Uint8Array;
  readonly keys: IndexKeys;
  readonly keyGeneration: number;
}

export class ManifestLog {
  /** Where the manifests are. */
  readonly store: BlobStore;
  /** The generation of the key that the index was opened with. */
  keyGeneration: number;
  readonly #keys: IndexKeys;
  readonly #indexId: Uint8Array;
  readonly #indexName: string;
  readonly #clock: Clock;
  #known: Tail | undefined;
  #waiting: Pending[] = [];
  #committing = false;
  #raised = false;

  constructor(store: BlobStore, { indexName, indexId, keys, keyGeneration }: IndexIdentity, clock: Clock) {
    this.store = store;
    this.keyGeneration = keyGeneration;
    this.#keys = keys;
    this.#indexId = indexId;
    this.#indexName = indexName;
    this.#clock = clock;
  }

  /** Stores version 1 of a new index. */
  async begin(): Promise<void> {
    const at = instant(this.#clock);
    const sealed = sealManifest(this.#keys, this.#indexId, emptyManifest(at.wall));
    await createConfirmed(this.store, manifestName(this.#indexId, 1), sealed.bytes);
    this.#known = { sealed, at };
  }

  /** Whether version 1 of a new index is certainly still there, for the record that is to name it. */
  async hasBegun(): Promise<boolean> {
    const known = this.#known;
    return known !== undefined && (this.#isFresh(known) || this.#stands(known.sealed));
  }

  /** The newest manifest that is known here, without asking; undefined where none is, or the index was deleted. */
  get known(): Manifest | undefined {
    const manifest = this.#known?.sealed.manifest;
    return manifest?.dropped ? undefined : manifest;
  }

  /** The newest manifest as it is stored, also where it says that the index was deleted. */
  async newestSealed(): Promise<SealedManifest> {
    return (await this.#advance()).sealed;
  }

  /**
   * The newest manifest that is known here, which may be behind; asks storage only where none is known. For what is
   * checked again when it is committed.
   */
  async recent(): Promise<Manifest> {
    return this.#live(this.#known ?? (await this.#advance()));
  }

  /** The newest version that this process knows. */
  get version(): number {
    return this.#known?.sealed.manifest.version ?? 1;
  }

  /**
   * The newest manifest: every commit acknowledged before this call is in it; with `maxStalenessMs`, every commit
   * acknowledged that long before, and all of this process. Throws `not_found` if dropped.
   */
  async newest(maxStalenessMs = 0): Promise<Manifest> {
    const known = this.#known;
    if (known !== undefined && maxStalenessMs > 0 && elapsedMs(this.#clock, known.at) <= maxStalenessMs) {
      return this.#live(known);
    }
    return this.#live(await this.#advance());
  }

  /** A manifest by its number; null where it was deleted, or never was. */
  async manifestAt(version: number): Promise<Manifest | null> {
    return (await this.#read(version))?.manifest ?? null;
  }

  /**
   * Applies a change to the newest manifest and returns the result, or null where the change declined.
   * Where another writer is first, the change is applied again, to what that writer left. When this rejects with
   * `storage_unavailable`, the change may or may not have been made.
   */
  commit(change: Change): Promise<Manifest | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      if (!this.#committing) void this.#commitWaiting();
    });
  }

  /** Whether a commit of this process put manifests out of use since this was last asked. */
  takeRaised(): boolean {
    const raised = this.#raised;
    this.#raised = false;
    return raised;
  }

  async #commitWaiting(): Promise<void> {
    this.#committing = true;
    for (let lost = 0; this.#waiting.length > 0;) {
      // Most often nobody else has written since: then creating the next manifest is all it takes.
      if (await this.#commitGroup(lost === 0)) lost = 0;
      // The first time the manifest that came first is just there to be read.
      else if (lost++ > 0) await this.#clock.pause(Math.min(contentionPauseMsMax, 2 ** lost));
    }
    this.#committing = false;
  }

  /** Commits, or rejects, what waits. False where another writer was first: then it waits still. */
  async #commitGroup(isOptimistic: boolean): Promise<boolean> {
    let tail: Tail;
    let latest: Manifest;
    try {
      const known = this.#known;
      const isRecent = known !== undefined && elapsedMs(this.#clock, known.at) < optimisticMs;
      tail = isOptimistic && isRecent ? known : await this.#advance();
      latest = this.#live(tail);
    } catch (error) {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
      return true;
    }
    const { draft, members, deferred } = applyChanges(latest, this.#waiting.splice(0));
    this.#waiting.unshift(...deferred);
    if (members.length === 0) return true;
    let next: SealedManifest;
    try {
      const at = instant(this.#clock);
      next = this.#follow(tail.sealed, draft);
      if (!(await this.#append(next, tail))) {
        this.#waiting.unshift(...members);
        return false;
      }
      this.#keep({ sealed: next, at });
    } catch (error) {
      for (const { reject } of members) reject(error);
      return true;
    }
    this.#raised ||= next.manifest.history.floor > latest.history.floor;
    for (const { resolve } of members) resolve(next.manifest);
    return true;
  }

  #follow({ manifest, digest }: SealedManifest, draft: Manifest): SealedManifest {
    const version = manifest.version + 1;
    const now = this.#clock.wall();
    return sealManifest(this.#keys, this.#indexId, {
      ...draft,
      version,
      previous: digest,
      history: advanceWatermark(draft.history, version, now, historyMs),
      uploads: advanceWatermark(draft.uploads, version, now, uploadMs),
    });
  }

  /** Whether `next` is now the manifest after `tail`, also where the acknowledgement was lost. */
  async #append(next: SealedManifest, tail: Tail): Promise<boolean> {
    const { version } = next.manifest;
    const created = await createConfirmed(this.store, manifestName(this.#indexId, version), next.bytes);
    if (this.#isFresh(tail) || (await this.#stands(tail.sealed))) return created;
    // What it follows is gone, so its place may have been free only because it was deleted. Who came after knows; and were
    // it one of the sequence, it would not have outlived who came after.
    const after = await this.#read(version + 1);
    if (after !== null) return after.manifest.previous === next.digest;
    if ((await this.#stands(next)) && (await this.#locate()).sealed.manifest.version > version) return false;
    throw new SealdexError(
      "storage_unavailable",
      `index "${this.#indexName}": the write was held up for so long that nothing tells whether it was made`,
    );
  }

  async #advance(): Promise<Tail> {
    const base = this.#known;
    if (base === undefined) return this.#keep(await this.#locate());
    let { sealed } = base;
    for (let ahead = 1; ; ahead *= 2) {
      if (ahead > aheadMax) return this.#keep(await this.#locate(base));
      const at = instant(this.#clock);
      const from = sealed.manifest.version + 1;
      for (const next of await this.#readFrom(from, ahead)) {
        if (next !== null && next.manifest.previous === sealed.digest) {
          sealed = next;
          continue;
        }
        if (!this.#isFresh(base) && !(await this.#stands(base.sealed)))
          return this.#keep(await this.#locate(base));
        if (next !== null) throw this.#replaced();
        return this.#keep({ sealed, at });
      }
    }
  }

  /** Remembers the newest of what was found: another call may have come further in the meantime. */
  #keep(found: Tail): Tail {
    const known = this.#known;
    if (known === undefined || found.sealed.manifest.version >= known.sealed.manifest.version) {
      this.#known = found;
      return found;
    }
    return known;
  }

  /** The first of the list, which is the newest. It cannot be older than what was the newest before. */
  async #locate(before?: Tail): Promise<Tail> {
    for (let attempt = 1; attempt <= locateAttemptsMax; attempt++) {
      const at = instant(this.#clock);
      const name = await this.#newestName();
      if (name === undefined) break;
      const sealed = await this.#read(numberOf(name));
      // Deleted since it was listed: then there is a newer one.
      if (sealed === null) continue;
      if (before !== undefined && !follows(sealed, before.sealed)) throw this.#replaced();
      return { sealed, at };
    }
    throw new SealdexError("missing_object", `index "${this.#indexName}": its manifests are gone`);
  }

  async #newestName(): Promise<string | undefined> {
    const prefix = manifestPrefix(this.#indexId);
    const [first] = await this.store.list(prefix, { limit: 1 });
    if (first === undefined || isNumbered(first, prefix)) return first;
    // What others put there is passed over.
    return (await this.store.list(prefix)).find((name) => isNumbered(name, prefix));
  }

  #isFresh({ at }: Tail): boolean {
    return elapsedMs(this.#clock, at) < freshMs;
  }

  async #stands({ manifest, digest }: SealedManifest): Promise<boolean> {
    return (await this.#read(manifest.version))?.digest === digest;
  }

  async #readFrom(version: number, count: number): Promise<(SealedManifest | null)[]> {
    if (count === 1) return [await this.#read(version)];
    return Promise.all(Array.from({ length: count }, (_, i) => this.#read(version + i)));
  }

  async #read(version: number): Promise<SealedManifest | null> {
    const bytes = await this.store.read(manifestName(this.#indexId, version));
    return bytes === null ? null : openManifest(this.#keys, this.#indexId, version, bytes);
  }

  #live({ sealed: { manifest } }: Tail): Manifest {
    if (manifest.dropped) throw new SealdexError("not_found", `index "${this.#indexName}": it was deleted`);
    if (manifest.keyGeneration > this.keyGeneration) {
      throw new SealdexError("wrong_index_key", `index "${this.#indexName}": its key was rotated`);
    }
    return manifest;
  }

  #replaced(): SealdexError {
    return new SealdexError("rollback_detected", `index "${this.#indexName}": its history was replaced`);
  }
}

/** Whether the newest manifest can be what became of an earlier newest one. */
function follows(newest: SealedManifest, before: SealedManifest): boolean {
  if (newest.manifest.version === before.manifest.version) return newest.digest === before.digest;
  return newest.manifest.version > before.manifest.version;
}
