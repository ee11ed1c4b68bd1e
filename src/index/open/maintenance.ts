/**
 * The jobs that commits of this process make due in one index, and the time at which each starts. They
 * run in the background. A job that rewrites much of the index waits until its writes pause, so that a
 * load in many writes is rewritten once, at its end. Writes themselves merge small segments: see
 * compact.ts.
 */

import type { Clock } from "../../state/commit/clock.js";
import type { Manifest, SegmentRef } from "../../state/commit/manifest.js";
import { SealdexError } from "../../errors.js";
import { isError } from "../../checks/value-kinds.js";
import { dueSegments, fanIn, type SegmentSize } from "./merge-policy.js";
import type { JobRunner } from "./job-runner.js";

/** Writes have paused if none ran for `pauseMs`. A heavy job waits for a pause at most `pauseMsMax`. */
export const pauseMs = 1000;
export const pauseMsMax = 30_000;

/** Work that a commit may make due. */
export interface Job {
  readonly name: "training" | "merge" | "garbage collection";
  /** Whether it rewrites much of the index: then it waits for a pause, and for such jobs of other indexes. */
  readonly isHeavy: boolean;
  /** As far as is known without asking storage. */
  isDue(): boolean;
  run(signal: AbortSignal): Promise<void>;
}

export class Maintenance {
  readonly #clock: Clock;
  readonly #runner: JobRunner;
  readonly #jobsOf: () => readonly Job[];
  /** In the order in which they start. */
  #jobs: readonly Job[] | undefined;
  readonly #started = new Set<Job>();
  readonly #failures = new Map<Job["name"], string>();
  /** Sizes of segments that commits of this process made due to be merged. */
  readonly #mergesDue = new Set<SegmentSize>();
  #isHistoryDue = false;
  #writes = 0;
  /** Since when a heavy job is due that waits for a pause. */
  #dueSince: number | undefined;
  #stopWaiting = () => {};

  /** `jobsOf`: called once, after the first write. */
  constructor(clock: Clock, runner: JobRunner, jobsOf: () => readonly Job[]) {
    this.#clock = clock;
    this.#runner = runner;
    this.#jobsOf = jobsOf;
  }

  /** Notes a commit of this process. */
  noteCommit(before: Manifest, committed: Manifest): void {
    this.#isHistoryDue ||= committed.history.floor > before.history.floor;
    for (const size of ["small", "large"] as const) {
      const isDueIn = ({ segments }: Manifest) => dueSegments(segments, size, fanIn).length > 0;
      if (!isDueIn(committed)) this.#mergesDue.delete(size);
      else if (!isDueIn(before)) this.#mergesDue.add(size);
    }
  }

  /**
   * Whether this process should merge some of these segments. If a commit of another process made them due, that one does, unless it is
   * gone: then they become twice as many.
   */
  isMergeDue(size: SegmentSize, segments: readonly SegmentRef[]): boolean {
    return dueSegments(segments, size, this.#mergesDue.has(size) ? fanIn : 2 * fanIn).length > 0;
  }

  /** Notes that there was nothing to merge, or that another process merged it. */
  noteNoMerge(size: SegmentSize): void {
    this.#mergesDue.delete(size);
  }

  /** Whether old manifests are to be deleted since a commit of this process advanced the watermark. Asked by the job that does so. */
  get isHistoryDue(): boolean {
    return this.#isHistoryDue;
  }

  noteCollection(): void {
    this.#isHistoryDue = false;
  }

  /** Runs a write of the index, during which writes have not paused. */
  async duringWrite<T>(write: () => Promise<T>): Promise<T> {
    this.#countWrites(1);
    let result: T;
    try {
      result = await write();
    } finally {
      this.#countWrites(-1);
    }
    this.afterWrite();
    return result;
  }

  /** Starts the jobs that are due; heavy ones at the next pause of writes. */
  afterWrite(): void {
    this.#jobs ??= this.#jobsOf();
    const due = this.#jobs.filter((job) => job.isDue());
    for (const job of due) if (!job.isHeavy) this.#start(job);
    if (!due.some((job) => job.isHeavy)) return;
    this.#dueSince ??= this.#clock.steady();
    this.#waitForPause();
  }

  /** Why a job failed when it ran last, if it did. */
  failure(name: Job["name"]): string | undefined {
    return this.#failures.get(name);
  }

  /** A caller did the work of the job. */
  forgetFailure(name: Job["name"]): void {
    this.#failures.delete(name);
  }

  #countWrites(change: 1 | -1): void {
    this.#writes += change;
    this.#waitForPause();
  }

  #waitForPause(): void {
    if (this.#dueSince === undefined) return;
    this.#stopWaiting();
    const left = Math.max(0, this.#dueSince + pauseMsMax - this.#clock.steady());
    this.#stopWaiting = this.#runner.after(this.#writes > 0 ? left : Math.min(pauseMs, left), () => {
      this.#dueSince = undefined;
      for (const job of this.#jobs ?? []) if (job.isHeavy && job.isDue()) this.#start(job);
    });
  }

  #start(job: Job): void {
    if (this.#started.has(job)) return;
    this.#started.add(job);
    const run = (signal: AbortSignal) => this.#run(job, signal).finally(() => this.#started.delete(job));
    if (job.isHeavy) this.#runner.startAlone(run);
    else this.#runner.start(run);
  }

  async #run(job: Job, signal: AbortSignal): Promise<void> {
    try {
      if (job.isDue()) await job.run(signal);
      this.#failures.delete(job.name);
    } catch (error) {
      // Deleted meanwhile: nothing to do, and no one to report to.
      if (signal.aborted || (error instanceof SealdexError && error.code === "not_found")) return;
      this.#failures.set(job.name, isError(error) ? error.message : String(error));
    }
  }
}
