/** The sequence of an index's manifests: which is the newest, and how the next one comes to be. */

import type { IndexKeys } from "../crypto/keys.js";
import { SealdexError } from "../errors.js";
import type { BlobStore } from "../storage/blob-store.js";
import { holdsBytes } from "../storage/retrying.js";
import { emptyManifest, type Manifest, openManifest, type SealedManifest, sealManifest } from "./manifest.js";
import { manifestName, manifestPrefix, numberOf } from "./names.js";

/** What a change makes of the newest manifest; version and digest are added. Null: nothing to do after all. */
export type Change = (latest: Manifest) => Omit<Manifest, "version" | "previous"> | null;

/** Steps forward one by one before asking for the newest at once. */
const stepsMax = 4;
const contentionPauseMsMax = 50;
/** How long a commit may build on what is known without asking. Far below the time that old manifests are kept. */
const freshMs = 10_000;

export class ManifestLog {
  readonly #store: BlobStore;
  readonly #keys: IndexKeys;
  readonly #indexId: Uint8Array;
  readonly #indexName: string;
  #known: SealedManifest | undefined;
  /** When it was found to be the newest; milliseconds of this process's clock. */
  #knownAt = -Infinity;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(store: BlobStore, keys: IndexKeys, indexId: Uint8Array, indexName: string) {
    this.#store = store;
    this.#keys = keys;
    this.#indexId = indexId;
    this.#indexName = indexName;
  }

  /** The newest manifest that is known here, without asking; undefined where none is, or the index was deleted. */
  get known(): Manifest | undefined {
    return this.#known?.manifest.dropped ? undefined : this.#known?.manifest;
  }

  /** The newest manifest as it is stored, also where it says that the index was deleted. */
  newestSealed(): Promise<SealedManifest> {
    return this.#advance();
  }

  /**
   * The newest manifest that is known here, which may be behind; asks storage only where none is known. For what is
   * checked again when it is committed.
   */
  async recent(): Promise<Manifest> {
    return this.#live(this.#known ?? (await this.#advance()));
  }

  /** Stores version 1 of a new index. */
  async begin(): Promise<void> {
    const first = sealManifest(this.#keys, this.#indexId, emptyManifest);
    await this.#store.create(manifestName(this.#indexId, 1), first.bytes);
    this.#know(first);
  }

  /** The newest manifest: every commit acknowledged before this call is in it. Throws `not_found` if dropped. */
  async newest(): Promise<Manifest> {
    return this.#live(await this.#advance());
  }

  /**
   * Applies a change to the newest manifest and returns the result, or null where the change declined.
   * Where another writer is first, the change is applied again, to what that writer left.
   */
  commit(change: Change): Promise<Manifest | null> {
    // One commit at a time in this process: its own writers need not race for the same number.
    const commit = this.#turn.then(() => this.#commit(change));
    this.#turn = commit.catch(() => undefined);
    return commit;
  }

  async #commit(change: Change): Promise<Manifest | null> {
    // Most often nobody else has written since: then creating the next manifest is all it takes.
    let latest = this.#fresh() ?? (await this.#advance());
    for (let lost = 0; ; lost++) {
      const draft = change(this.#live(latest));
      if (draft === null) return null;
      const version = latest.manifest.version + 1;
      const next = sealManifest(this.#keys, this.#indexId, { ...draft, version, previous: latest.digest });
      if (await this.#create(next)) {
        this.#know(next);
        return next.manifest;
      }
      // The first time the manifest that came first is just there to be read.
      if (lost > 0) await pause(Math.random() * Math.min(contentionPauseMsMax, 2 ** lost));
      latest = await this.#advance();
    }
  }

  /** Whether `next` is now the manifest of its version, also where the acknowledgement was lost. */
  async #create(next: SealedManifest): Promise<boolean> {
    const name = manifestName(this.#indexId, next.manifest.version);
    try {
      return await this.#store.create(name, next.bytes);
    } catch (error) {
      const won = await holdsBytes(this.#store, name, next.bytes);
      if (won === null) throw error;
      return won;
    }
  }

  async #advance(): Promise<SealedManifest> {
    // The list holds every manifest that was created before the call: nothing newer needs to be asked for.
    if (this.#known === undefined) return this.#know(await this.#first());
    let known = this.#known;
    for (let steps = 0; ; steps++) {
      const next = await this.#read(known.manifest.version + 1);
      if (next === null) break;
      known = steps < stepsMax ? next : await this.#first();
    }
    return this.#know(known);
  }

  /** What is known to be the newest now: another call may have come further in the meantime. */
  #know(manifest: SealedManifest): SealedManifest {
    if (this.#known === undefined || manifest.manifest.version >= this.#known.manifest.version) {
      this.#known = manifest;
      this.#knownAt = performance.now();
    }
    return this.#known;
  }

  /** The known manifest, where it was the newest a short while ago. */
  #fresh(): SealedManifest | undefined {
    return performance.now() - this.#knownAt < freshMs ? this.#known : undefined;
  }

  /** The first of the list, which is the newest. */
  async #first(): Promise<SealedManifest> {
    const [name] = await this.#store.list(manifestPrefix(this.#indexId), { limit: 1 });
    const manifest = name === undefined ? null : await this.#read(numberOf(name));
    if (manifest === null) {
      throw new SealdexError("missing_object", `index "${this.#indexName}": its manifests are gone`);
    }
    return manifest;
  }

  async #read(version: number): Promise<SealedManifest | null> {
    const bytes = await this.#store.read(manifestName(this.#indexId, version));
    if (bytes === null) return null;
    const next = openManifest(this.#keys, this.#indexId, version, bytes);
    const known = this.#known;
    if (
      known &&
      next.manifest.version === known.manifest.version + 1 &&
      next.manifest.previous !== known.digest
    ) {
      throw new SealdexError("rollback_detected", `index "${this.#indexName}": its history was replaced`);
    }
    return next;
  }

  #live({ manifest }: SealedManifest): Manifest {
    if (manifest.dropped) throw new SealdexError("not_found", `index "${this.#indexName}": it was deleted`);
    return manifest;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
