/**
 * Deletes objects that commits of this process dropped, once they were kept for as long as readers of other processes may need them and no reader of
 * this one does: also if no process writes any more. Garbage collection does the same by manifests, for all processes and much later, so
 * objects that are forgotten here when the process ends are left to it.
 */

import type { Clock } from "../../state/commit/clock.js";
import type { ObjectRef } from "../../state/commit/manifest.js";
import { historyMs } from "../../state/commit/retention.js";
import type { BlobStore } from "../../storage/blob-store.js";
import type { JobRunner } from "./job-runner.js";

/** Delay until objects in use by a reader of this process are checked again. */
export const usedPauseMs = 10_000;
/** How much later than it could be something is deleted, as a share of the time that it is kept: so that many go in one request. */
const delayShare = 0.01;

export interface Retention {
  /** How long dropped objects are kept. */
  readonly retentionMs: number;
  readonly clock: Clock;
  readonly runner: JobRunner;
}

/** The readers of this process that may still use dropped objects. */
export interface Readers {
  /** The objects that readers may read. */
  namesInUse(): ReadonlySet<string>;
  /** Whether a cursor may still be used. Its objects are not known. */
  haveCursor(): boolean;
}

interface Waiting {
  readonly object: ObjectRef;
  /** When it was dropped, by the steady clock. */
  readonly since: number;
}

export class DroppedObjects {
  readonly #store: BlobStore;
  readonly #readers: Readers;
  readonly #retention: Retention;
  /** In the order in which they were dropped. */
  #waiting: Waiting[] = [];
  #isScheduled = false;

  constructor(store: BlobStore, readers: Readers, retention: Retention) {
    this.#store = store;
    this.#readers = readers;
    this.#retention = retention;
  }

  /** Bytes that are still stored. */
  get bytes(): number {
    return this.#waiting.reduce((sum, { object }) => sum + object.length, 0);
  }

  /** Notes objects that a commit dropped. */
  add(objects: readonly ObjectRef[]): void {
    if (objects.length === 0) return;
    const since = this.#retention.clock.steady();
    for (const object of objects) this.#waiting.push({ object, since });
    this.#schedule(this.#keptMs);
  }

  /** Whether all kept objects are in use by known readers. */
  get isWithoutGrace(): boolean {
    return this.#keptMs === 0;
  }

  /** The objects that readers of this process may read, whether they were dropped or not. */
  namesInUse(): ReadonlySet<string> {
    return this.#readers.namesInUse();
  }

  /** Deletes objects that were kept for long enough. A deletion that fails is tried again later. */
  async deleteDue(): Promise<void> {
    const end = this.#retention.clock.steady() - this.#keptMs;
    const used = this.namesInUse();
    const due = this.#waiting.filter(({ since, object }) => since <= end && !used.has(object.name));
    try {
      if (due.length > 0) await this.#store.delete(due.map(({ object }) => object.name));
      const gone = new Set(due);
      this.#waiting = this.#waiting.filter((each) => !gone.has(each));
    } finally {
      const [next] = this.#waiting;
      if (next !== undefined) this.#schedule(this.#pauseMs(next.since - end));
    }
  }

  /** How long dropped objects are kept. Cursors are good for as long as by default. */
  get #keptMs(): number {
    return this.#readers.haveCursor() ? historyMs : this.#retention.retentionMs;
  }

  /** How long to wait for an object that is due in `ms`; if it was due before, readers use it. */
  #pauseMs(ms: number): number {
    if (ms <= 0) return usedPauseMs;
    // Whole milliseconds: a clock may not advance by a fraction of one.
    return Math.ceil(Math.max(ms, delayShare * this.#keptMs));
  }

  #schedule(ms: number): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const { runner } = this.#retention;
    runner.after(ms, () => {
      this.#isScheduled = false;
      runner.start(() => this.deleteDue());
    });
  }
}
