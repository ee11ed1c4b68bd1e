/**
 * Trains indexes without being asked: once they are large enough for probing to beat a scan of everything, and again whenever they have doubled.
 *
 * It runs in the background of the process whose write made it due, once writes have paused, one index at a time. No write
 * waits for it or fails with it. Where several processes train at once, the commit of one counts and the others begin again
 * or give up; if a process ends before it is done, the next write of any process finds it due.
 */

import { SealdexError } from "../errors.js";
import { type Manifest, rowsAtMost } from "../commit/manifest.js";
import type { OpenIndex } from "./open-index.js";
import { train } from "./train.js";
import { isError } from "../value-kinds.js";

/**
 * Below this a scan of everything takes a few milliseconds, and is exact. Probing is faster from 2,500 items on, but at 10,000
 * it is so by more than ten times.
 */
export const itemsMin = 10_000;
/** An index is trained again when it is so many times as large: over its life, trainings then write each row about twice. */
export const growth = 2;

export class AutomaticTraining {
  readonly #enabled: boolean;
  readonly #abort = new AbortController();
  readonly #waiting = new Set<OpenIndex>();
  readonly #failures = new WeakMap<OpenIndex, string>();
  /** How many rows there seemed to be when a count found that there were fewer. */
  readonly #countedAt = new WeakMap<OpenIndex, number>();
  #running: Promise<void> = Promise.resolve();

  constructor(enabled: boolean) {
    this.#enabled = enabled;
  }

  /** Runs a write, which returns the manifest that it committed. */
  async duringWrite(index: OpenIndex, write: () => Promise<Manifest | null>): Promise<void> {
    await index.pauses.during(async () => {
      const committed = await write();
      const isDueNow = committed !== null && this.#seemsDue(index, committed);
      if (!this.#enabled || this.#abort.signal.aborted || !isDueNow) return;
      this.#waiting.add(index);
      index.pauses.next(this, () => this.#start(index));
    });
  }

  /** Why the last automatic training of this index failed, if it did. */
  failure(index: OpenIndex): string | undefined {
    return this.#failures.get(index);
  }

  /** A training that a caller requested succeeded. */
  forgetFailure(index: OpenIndex): void {
    this.#failures.delete(index);
  }

  /** Gives up what waits and what runs. */
  async close(): Promise<void> {
    this.#abort.abort(new SealdexError("internal", "automatic training: the client was closed"));
    for (const { pauses } of this.#waiting) pauses.cancel(this);
    this.#waiting.clear();
    await this.#running;
  }

  #start(index: OpenIndex): void {
    this.#waiting.delete(index);
    this.#running = this.#running.then(() => this.#train(index));
  }

  async #train(index: OpenIndex): Promise<void> {
    const { signal } = this.#abort;
    try {
      if (signal.aborted) return;
      const snapshot = await index.snapshots.newest();
      if (!this.#seemsDue(index, snapshot.manifest)) return;
      const { manifest } = snapshot;
      const items = await snapshot.countIn(snapshot.unnamed);
      if (items < trainedFrom(manifest)) {
        this.#countedAt.set(index, rowsAtMost(manifest));
        return;
      }
      await train(index, { signal });
      this.#failures.delete(index);
    } catch (error) {
      // Deleted meanwhile: nothing to train, and no one to report to.
      if (signal.aborted || (error instanceof SealdexError && error.code === "not_found")) return;
      this.#failures.set(index, isError(error) ? error.message : String(error));
    }
  }

  /** Without counting: rows that newer ones replaced are still counted in. */
  #seemsDue(index: OpenIndex, manifest: Manifest): boolean {
    const rows = rowsAtMost(manifest);
    // Where a count found fewer, the next one is as far away as the training that it is for.
    return rows >= trainedFrom(manifest) && rows >= growth * (this.#countedAt.get(index) ?? 0);
  }
}

/** How many items an index has to have to be trained, or trained again. */
function trainedFrom({ model }: Manifest): number {
  return model === undefined ? itemsMin : growth * model.items;
}
