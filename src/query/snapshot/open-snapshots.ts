/** The snapshots of an index, or of one namespace, that this process has open: the newest one, and older ones in use. */

import type { Clock } from "../../state/commit/clock.js";
import { type Manifest, namedObjects } from "../../state/commit/manifest.js";
import type { Model } from "../../engine/model.js";
import type { OpenObjects } from "./open-objects.js";
import type { Snapshot } from "./snapshot.js";

/** A snapshot of the caller's own. Call `release` when done. */
export interface HeldSnapshot {
  readonly snapshot: Snapshot;
  release(): void;
}

/** The objects of manifests. */
export type SnapshotObjects = Pick<OpenObjects, "open" | "release" | "model" | "dropModel">;

/** Opens the objects of a manifest, and is told of newer ones. */
export interface SnapshotScope {
  /** The manifest with the segments that are in scope alone. Default: all. */
  select?(manifest: Manifest): Promise<Manifest>;
  /** Called with each newer manifest that is opened, unselected. */
  onNewer?(manifest: Manifest): void;
}

export class OpenSnapshots {
  readonly #objects: SnapshotObjects;
  readonly #clock: Clock;
  readonly #scope: SnapshotScope;
  readonly #opening = new Map<number, Promise<Snapshot>>();
  #newest: Snapshot | undefined;
  /** Older ones that were in use when a newer one took their place, and those that callers hold. */
  readonly #used = new Set<Snapshot>();
  /** The newest manifest whose models were asked for. */
  #named: Manifest | undefined;

  constructor(objects: SnapshotObjects, clock: Clock, scope: SnapshotScope) {
    this.#objects = objects;
    this.#clock = clock;
    this.#scope = scope;
  }

  /** The manifest with the segments in scope alone. */
  async select(manifest: Manifest): Promise<Manifest> {
    return this.#scope.select === undefined ? manifest : this.#scope.select(manifest);
  }

  /** Keeps nothing open that the manifest of a newer version does not name. */
  dropUnnamed(version: number, named: ReadonlySet<string>): void {
    const newest = this.#newest;
    if (newest === undefined || newest.manifest.version >= version) return;
    if (newest.manifest.segments.every(({ name }) => named.has(name))) return;
    this.close();
  }

  /** Keeps open only objects in use. */
  close(): void {
    if (this.#newest !== undefined) this.#retire(this.#newest);
    this.#newest = undefined;
  }

  /** The objects that work of this process that has begun may read. */
  namesInUse(): ReadonlySet<string> {
    const names = new Set<string>();
    for (const snapshot of [...this.#used, ...(this.#newest === undefined ? [] : [this.#newest])]) {
      if (snapshot.uses === 0) this.#used.delete(snapshot);
      else for (const name of namedObjects(snapshot.manifest)) names.add(name);
    }
    return names;
  }

  /** The version that was opened last. */
  get version(): number | undefined {
    return this.#newest?.manifest.version;
  }

  /** The snapshot of a manifest, if it is the one that was opened last. */
  openedAt({ version }: Manifest): Snapshot | undefined {
    const newest = this.#newest;
    return newest?.manifest.version === version && this.#isCurrent(newest) ? newest : undefined;
  }

  /** The snapshot of a manifest, opened once for all that ask at the same time. */
  async at(manifest: Manifest): Promise<Snapshot> {
    const { version } = manifest;
    const begun = this.#opening.get(version);
    if (begun !== undefined) {
      const snapshot = await begun;
      if (this.#isCurrent(snapshot)) return snapshot;
    }
    const opening = this.#open(manifest);
    this.#opening.set(version, opening);
    try {
      return await opening;
    } finally {
      this.#opening.delete(version);
    }
  }

  /** A snapshot of the caller's own, which stays open while newer ones come. */
  async hold(manifest: Manifest): Promise<HeldSnapshot> {
    const snapshot = await this.#objects.open(await this.select(manifest), this.#clock.wall());
    snapshot.uses++;
    this.#used.add(snapshot);
    const release = () => {
      snapshot.uses--;
      this.#used.delete(snapshot);
      this.#objects.release(snapshot);
    };
    return { snapshot, release };
  }

  /** The model of new segments, if there is one. */
  async modelOf(manifest: Manifest): Promise<Model | undefined> {
    const model = manifest.model && (await this.#objects.model(manifest.model));
    this.#keepModelsOf(manifest);
    return model;
  }

  /** Whether nothing of a snapshot has expired since it was opened. */
  #isCurrent({ expired }: Snapshot): boolean {
    return expired.next === Infinity || expired.next > this.#clock.wall();
  }

  async #open(manifest: Manifest): Promise<Snapshot> {
    const snapshot = await this.#objects.open(await this.select(manifest), this.#clock.wall());
    this.#scope.onNewer?.(manifest);
    const newest = this.#newest;
    if (newest !== undefined && newest.manifest.version > manifest.version) {
      // Another call got further in the meantime.
      this.#used.add(snapshot);
      this.#objects.release(snapshot);
      return snapshot;
    }
    this.#newest = snapshot;
    if (newest !== undefined) this.#retire(newest);
    this.#keepModelsOf(manifest);
    return snapshot;
  }

  #retire(snapshot: Snapshot): void {
    if (snapshot.uses > 0) this.#used.add(snapshot);
    this.#objects.release(snapshot);
  }

  #keepModelsOf(manifest: Manifest): void {
    const before = this.#named;
    if (before !== undefined && before.version >= manifest.version) return;
    this.#named = manifest;
    if (before?.model !== undefined && before.model.name !== manifest.model?.name) {
      this.#objects.dropModel(before.model);
    }
  }
}
