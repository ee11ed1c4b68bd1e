/** How calls read an index: in its newest state, on a snapshot that stays the same until they end. */

import { type Manifest, namedObjects } from "../../state/commit/manifest.js";
import type { ManifestLog } from "../../state/commit/manifest-log.js";
import type { Model } from "../../engine/model.js";
import { SealdexError } from "../../errors.js";
import type { HeldSnapshot, OpenSnapshots } from "./open-snapshots.js";
import type { Snapshot } from "./snapshot.js";
import { enterStage } from "../../async/profile.js";
import { type Task, waitFor } from "../../engine/threads/run.js";

/** Queries about the newest snapshot. */
const confirmed = async () => undefined;
/** Thrown to abandon work on a stale snapshot. Never reaches a caller. */
const outdated = new Error("a newer snapshot has taken the place of this one");

/** A read of a snapshot. Before a step that must not happen twice, it awaits `confirm`. */
type Work<T> = (snapshot: Snapshot, confirm: () => Promise<void>) => Task<T>;

export class Snapshots {
  readonly #log: ManifestLog;
  readonly #open: OpenSnapshots;
  readonly #maxStalenessMs: number;
  /** Whether the last work of `readAhead` was begun on a snapshot that was not the newest. */
  #wasOutdated = false;

  /** `maxStalenessMs`: the largest age of the snapshot of a `read`. */
  constructor(log: ManifestLog, open: OpenSnapshots, maxStalenessMs: number) {
    this.#log = log;
    this.#open = open;
    this.#maxStalenessMs = maxStalenessMs;
  }

  /** The manifest with the segments in scope alone. */
  select(manifest: Manifest): Promise<Manifest> {
    return this.#open.select(manifest);
  }

  /** The newest index: every change acknowledged before this call is in it. */
  async newest(maxStalenessMs = 0): Promise<Snapshot> {
    // Usually nothing was written in the meantime: the manifest known here is opened while storage is asked for a newer one.
    const { known } = this.#log;
    if (known !== undefined && this.#open.version !== known.version)
      this.#open.at(known).catch(() => undefined);
    const manifest = await this.#log.newest(maxStalenessMs);
    const opened = this.#open.openedAt(manifest);
    if (opened !== undefined) return opened;
    try {
      return await this.#open.at(manifest);
    } catch (error) {
      if (await this.wasSuperseded(manifest, error)) return this.newest();
      throw error;
    }
  }

  /** The snapshot of this state, whether it is the newest or not. */
  async at(manifest: Manifest): Promise<Snapshot> {
    return this.#open.openedAt(manifest) ?? this.#open.at(manifest);
  }

  /**
   * The result of `work` on a snapshot that is at most as stale as the client allows. If the objects of the snapshot are
   * deleted before `work` has read them, `work` starts again on a newer snapshot.
   */
  read<T>(work: (snapshot: Snapshot) => Promise<T> | T): Promise<T> {
    return this.#readAt(this.#maxStalenessMs, work);
  }

  /**
   * As `read`, as a task. If the newest snapshot is known without waiting, only `work` waits.
   * Otherwise `work` starts on the cached snapshot while storage is asked for a newer one, and is
   * abandoned if there is one: `confirm` rejects then, and `work` runs again on the newer snapshot.
   */
  *readAhead<T>(work: Work<T>): Task<T> {
    enterStage("open");
    const manifest = this.#log.newestNow(this.#maxStalenessMs);
    let snapshot = manifest && this.#open.openedAt(manifest);
    if (snapshot === undefined) {
      const begun = yield* this.#readKnown(work);
      if ("result" in begun) return begun.result;
      snapshot = begun.newest;
    }
    for (; ; snapshot = yield* waitFor(this.newest())) {
      snapshot.uses++;
      try {
        return yield* work(snapshot, confirmed);
      } catch (error) {
        if (!(yield* waitFor(this.wasSuperseded(snapshot.manifest, error)))) throw error;
      } finally {
        snapshot.uses--;
      }
    }
  }

  /** The result of `work` on the cached snapshot if it proves to be the newest; otherwise the newest. */
  *#readKnown<T>(work: Work<T>): Task<{ readonly result: T } | { readonly newest: Snapshot }> {
    const known = this.opened();
    const checking = this.newest(this.#maxStalenessMs);
    // At most every second call starts on a cached snapshot in vain, even next to a busy writer.
    if (known === undefined || this.#wasOutdated) {
      this.#wasOutdated = false;
      return { newest: yield* waitFor(checking) };
    }
    let isOver = false;
    const confirming = checking.then((snapshot) => {
      this.#wasOutdated = snapshot !== known;
      if (this.#wasOutdated) throw outdated;
    });
    confirming.catch(() => (isOver = true));
    known.uses++;
    try {
      const result = yield* abandonedIf(
        () => isOver,
        work(known, () => confirming),
      );
      enterStage("open");
      yield* waitFor(confirming);
      return { result };
    } catch (error) {
      const newest = yield* waitFor(checking);
      if (newest !== known) return { newest };
      if (!(yield* waitFor(this.wasSuperseded(known.manifest, error)))) throw error;
      return { newest: yield* waitFor(this.newest()) };
    } finally {
      known.uses--;
    }
  }

  /** The snapshot of the manifest that is known here, if it is open. */
  opened(): Snapshot | undefined {
    const { known } = this.#log;
    return known && this.#open.openedAt(known);
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
        return await this.#open.hold(held);
      } catch (error) {
        if (manifest !== undefined || !(await this.wasSuperseded(held, error))) throw error;
      }
    }
  }

  async #readAt<T>(maxStalenessMs: number, work: (snapshot: Snapshot) => Promise<T> | T): Promise<T> {
    for (let snapshot = await this.newest(maxStalenessMs); ; snapshot = await this.newest()) {
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
      return { manifest, model: await this.#open.modelOf(manifest) };
    } catch (error) {
      // Known for so long that its model was deleted: by now there is a newer one.
      if (await this.wasSuperseded(manifest, error)) return this.recentModel();
      throw error;
    }
  }
}

/** The result of a task. After each wait, it is abandoned if `isOver`. */
function* abandonedIf<T>(isOver: () => boolean, task: Task<T>): Task<T> {
  try {
    for (let step = task.next(); ;) {
      if (step.done) return step.value;
      let failure: { readonly error: unknown } | undefined;
      try {
        yield step.value;
      } catch (error) {
        failure = { error };
      }
      if (isOver()) throw outdated;
      step = failure === undefined ? task.next() : task.throw(failure.error);
    }
  } finally {
    task.return(undefined as T);
  }
}
