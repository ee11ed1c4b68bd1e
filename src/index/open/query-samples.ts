/**
 * Queries of a client whose recall is measured when it has time, so that its indexes learn from them (see learned-recall.ts). They
 * are compared one at a time, with pauses that leave this 1 % of a core, and with nothing that is not in memory. Their vectors are
 * in memory alone, and overwritten once they were compared or the client is closed.
 */

import type { Clock } from "../../state/commit/clock.js";
import type { Model } from "../../engine/model.js";
import { compareRecall } from "../../query/compare-recall.js";
import type { SearchTarget } from "./namespace-scopes.js";
import type { JobRunner } from "./job-runner.js";

/** Vectors that wait at a time, of all indexes. */
const waitingMax = 300;
/** A pause is this many times as long as the comparison before it took. */
const pauseTimes = 99;
/** The shortest pause, in milliseconds: calls that came together are done by then. */
const pauseMsMin = 100;

interface Sample {
  // A sample that waits keeps no index in memory that its caller has dropped.
  readonly searcher: WeakRef<SearchTarget["searcher"]>;
  readonly snapshots: WeakRef<SearchTarget["snapshots"]>;
  readonly vector: Float32Array;
}

export class QuerySamples {
  readonly #clock: Clock;
  readonly #runner: JobRunner;
  readonly #waiting: Sample[] = [];
  #isScheduled = false;
  #lastMs = 0;

  constructor(clock: Clock, runner: JobRunner) {
    this.#clock = clock;
    this.#runner = runner;
  }

  /** Takes a copy of the vector of a query, if the index learns from more of them. */
  take({ searcher, snapshots }: SearchTarget, models: readonly Model[], vector: Float32Array): void {
    if (this.#waiting.length >= waitingMax || !searcher.learned.isWanted(models)) return;
    this.#waiting.push({
      searcher: new WeakRef(searcher),
      snapshots: new WeakRef(snapshots),
      vector: vector.slice(),
    });
    this.#schedule();
  }

  /** Overwrites the vectors that wait. Call it when no query runs any more. */
  close(): void {
    for (const { vector } of this.#waiting.splice(0)) vector.fill(0);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    this.#runner.after(Math.max(pauseMsMin, pauseTimes * this.#lastMs), () =>
      this.#runner.start((signal) => this.#compareNext(signal)),
    );
  }

  async #compareNext(signal: AbortSignal): Promise<void> {
    const sample = this.#waiting.shift();
    const startedAt = this.#clock.steady();
    try {
      if (sample !== undefined) await compare(sample, signal);
    } finally {
      sample?.vector.fill(0);
      this.#lastMs = this.#clock.steady() - startedAt;
      this.#isScheduled = false;
      this.#schedule();
    }
  }
}

async function compare(sample: Sample, signal: AbortSignal): Promise<void> {
  const { vector } = sample;
  const searcher = sample.searcher.deref();
  const snapshot = sample.snapshots.deref()?.opened();
  if (searcher === undefined || snapshot?.models.at(0)?.dimension !== vector.length) return;
  snapshot.uses++;
  try {
    const result = await compareRecall(searcher, snapshot, vector, { memoryOnly: true, signal });
    if (result !== undefined) searcher.learned.add(snapshot.models, result);
  } finally {
    snapshot.uses--;
  }
}
