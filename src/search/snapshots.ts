/** An index as of now, opened: follows the log of manifests and keeps the newest snapshot. */

import { type Manifest, modelRefs, namedObjects } from "../commit/manifest.js";
import type { Clock } from "../commit/clock.js";
import type { ManifestLog } from "../commit/manifest-log.js";
import type { Model } from "../engine/model.js";
import { SealdexError } from "../errors.js";
import type { OpenObjects } from "./open-objects.js";
import type { Snapshot } from "./snapshot.js";

/** What may be asked of a snapshot that is the newest. */
const confirmed = async () => undefined;
const ignored = () => undefined;
/** Ends work that was begun on a snapshot which proved not to be the newest. Nobody sees it. */
const outdated = new Error("a newer snapshot has taken the place of this one");

/** A snapshot of the caller's own. Call `release` when done. */
export interface HeldSnapshot {
  readonly snapshot: Snapshot;
  release(): void;
}

/** What of a manifest is opened, and who is told of newer ones. */
export interface SnapshotScope {
  /** The manifest with the segments that are in scope alone. Default: all. */
  select?(manifest: Manifest): Promise<Manifest>;
  /** Called with each newer manifest that is opened, unselected. */
  onNewer?(manifest: Manifest): void;
}

export class Snapshots {
  readonly #log: ManifestLog;
  readonly #objects: OpenObjects;
  readonly #clock: Clock;
  readonly #maxStalenessMs: number;
  readonly #scope: SnapshotScope;
  readonly #opening = new Map<number, Promise<Snapshot>>();
  #newest: Snapshot | undefined;
  /** Older ones that were in use when a newer one took their place, and those that callers hold. */
  readonly #used = new Set<Snapshot>();
  /** Whether the last work of `readAhead` was begun on a snapshot that was not the newest. */
  #wasOutdated = false;
  /** The newest manifest whose models were asked for. */
  #named: Manifest | undefined;

  /** `maxStalenessMs`: how old what `read` works on may be. */
  constructor(
    log: ManifestLog,
    objects: OpenObjects,
    clock: Clock,
    maxStalenessMs: number,
    scope: SnapshotScope = {},
  ) {
    this.#log = log;
    this.#objects = objects;
    this.#clock = clock;
    this.#maxStalenessMs = maxStalenessMs;
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

  /** The index as of now: every change acknowledged before this call is in it. */
  async newest(maxStalenessMs = 0): Promise<Snapshot> {
    // Usually nothing was written in the meantime: the manifest known here is opened while storage is asked for a newer one.
    const { known } = this.#log;
    if (known !== undefined && this.#newest?.manifest.version !== known.version)
      this.#at(known).catch(() => undefined);
    const manifest = await this.#log.newest(maxStalenessMs);
    const opened = this.#openedAt(manifest);
    if (opened !== undefined) return opened;
    try {
      return await this.#at(manifest);
    } catch (error) {
      if (await this.wasSuperseded(manifest, error)) return this.newest();
      throw error;
    }
  }

  /** Opens a manifest that is the known one, before anybody asks for it. */
  async prepare(manifest: Manifest): Promise<void> {
    await this.#at(manifest);
  }

  /** The newest snapshot, if it is open and the client allows its staleness: valid until the next await. */
  opened(): Snapshot | undefined {
    const manifest = this.#log.recent(this.#maxStalenessMs);
    return manifest && this.#openedAt(manifest);
  }

  /** Keeps nothing open but what is in use. */
  close(): void {
    if (this.#newest !== undefined) this.#retire(this.#newest);
    this.#newest = undefined;
  }

  /**
   * The result of `work` on a snapshot that is at most as stale as the client allows. If the objects of the snapshot are
   * deleted before `work` has read them, `work` starts again on a newer snapshot.
   */
  read<T>(work: (snapshot: Snapshot) => Promise<T> | T): Promise<T> {
    return this.#readAt(this.#maxStalenessMs, work);
  }

  /**
   * As `read`, for work that may be the first to need something of storage: it begins on the snapshot known here, while storage is
   * asked for a newer one, and starts again if there is one. What must not happen twice awaits `confirm`, which rejects then.
   */
  async readAhead<T>(work: (snapshot: Snapshot, confirm: () => Promise<void>) => Promise<T> | T): Promise<T> {
    const again = (snapshot: Snapshot) => work(snapshot, confirmed);
    const known = this.#openedAsKnown();
    // If others write between any two calls, every second one begins in vain, and no more.
    if (known === undefined || this.#wasOutdated) {
      this.#wasOutdated = false;
      return this.read(again);
    }
    const checking = this.newest(this.#maxStalenessMs);
    const begun = this.#begin(known, (snapshot) =>
      work(snapshot, async () => {
        if ((await checking) !== snapshot) throw outdated;
      }),
    );
    const ended = begun instanceof Promise ? begun.then(ignored, ignored) : undefined;
    try {
      const newest = await checking;
      this.#wasOutdated = newest !== known;
      if (newest !== known) return await this.#readFrom(newest, again);
      if (!(begun instanceof Promise)) return begun;
      try {
        return await begun;
      } catch (error) {
        if (!(await this.wasSuperseded(known.manifest, error))) throw error;
      }
      return await this.#readFrom(await this.newest(), again);
    } finally {
      // What was begun in vain, too: a client that waits for its calls leaves nothing in memory.
      await ended;
    }
  }

  /** As `read`, on a snapshot that has every change acknowledged before this call. */
  readNewest<T>(work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    return this.#readAt(0, work);
  }

  /**
   * Opens a snapshot that stays open while newer ones come, for work that others' writes must not disturb: of this manifest,
   * or of one that is at most as stale as the client allows. Its objects are kept in storage for 15 minutes after a newer
   * manifest dropped them; then reading them throws `missing_object`.
   */
  async hold(manifest?: Manifest): Promise<HeldSnapshot> {
    for (;;) {
      const held = manifest ?? (await this.#log.newest(this.#maxStalenessMs));
      try {
        const snapshot = await this.#objects.open(await this.select(held), this.#clock.wall());
        snapshot.uses++;
        this.#used.add(snapshot);
        const release = () => {
          snapshot.uses--;
          this.#used.delete(snapshot);
          this.#objects.release(snapshot);
        };
        return { snapshot, release };
      } catch (error) {
        if (manifest !== undefined || !(await this.wasSuperseded(held, error))) throw error;
      }
    }
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

  async #readAt<T>(maxStalenessMs: number, work: (snapshot: Snapshot) => Promise<T> | T): Promise<T> {
    return this.#readFrom(await this.newest(maxStalenessMs), work);
  }

  async #readFrom<T>(first: Snapshot, work: (snapshot: Snapshot) => Promise<T> | T): Promise<T> {
    for (let snapshot = first; ; snapshot = await this.newest()) {
      snapshot.uses++;
      try {
        return await work(snapshot);
      } catch (error) {
        if (!(await this.wasSuperseded(snapshot.manifest, error))) throw error;
      } finally {
        snapshot.uses--;
      }
    }
  }

  /** The result of `work`, or what it waits for, which counts as a use of the snapshot. Throws nothing. */
  #begin<T>(snapshot: Snapshot, work: (snapshot: Snapshot) => Promise<T> | T): Promise<T> | T {
    let result: Promise<T> | T;
    try {
      result = work(snapshot);
    } catch (error) {
      return Promise.reject(error);
    }
    if (!(result instanceof Promise)) return result;
    snapshot.uses++;
    return result.finally(() => snapshot.uses--);
  }

  /** Whether `error` can be explained by objects of this version that the newest one no longer names, and so were deleted. */
  async wasSuperseded(manifest: Manifest, error: unknown): Promise<boolean> {
    if (!(error instanceof SealdexError && error.code === "missing_object")) return false;
    const named = namedObjects(await this.#log.newest());
    return [...namedObjects(manifest)].some((name) => !named.has(name));
  }

  /** The manifest known here, without asking storage (see `ManifestLog.knownOrNewest`), and the model of new segments. */
  async recentModel(): Promise<{ readonly manifest: Manifest; readonly model: Model | undefined }> {
    const manifest = await this.#log.knownOrNewest();
    try {
      const model = manifest.model && (await this.#objects.model(manifest.model));
      this.#keepModelsOf(manifest);
      return { manifest, model };
    } catch (error) {
      // Known for so long that its model was deleted: by now there is a newer one.
      if (await this.wasSuperseded(manifest, error)) return this.recentModel();
      throw error;
    }
  }

  async #at(manifest: Manifest): Promise<Snapshot> {
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

  /** The snapshot of the known manifest, if it is open. */
  #openedAsKnown(): Snapshot | undefined {
    const { known } = this.#log;
    return known && this.#openedAt(known);
  }

  #openedAt({ version }: Manifest): Snapshot | undefined {
    const newest = this.#newest;
    return newest?.manifest.version === version && this.#isCurrent(newest) ? newest : undefined;
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
    const kept = new Set(modelRefs(manifest).map(({ name }) => name));
    if (before !== undefined) {
      this.#objects.dropModels(modelRefs(before).filter(({ name }) => !kept.has(name)));
    }
  }
}
