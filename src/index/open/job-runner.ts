/**
 * Runs the background work of a client, for all of its indexes. No call waits for it or fails with it.
 * Closing the client aborts the work and waits until it has ended; other processes find it due.
 */

import type { Clock } from "../../state/commit/clock.js";
import { SealdexError } from "../../errors.js";

/** Background work. It stops at its next step if the signal aborts. */
export type JobWork = (signal: AbortSignal) => Promise<unknown>;

export class JobRunner {
  readonly #clock: Clock;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #timers = new Set<() => void>();
  /** The last work that was to run alone. */
  #last: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts work whose failure is not reported: it is done again when it is due again. */
  start(work: JobWork): void {
    void this.#track(() => work(this.#stopping.signal));
  }

  /** As `start`, after all other work that was to run alone: such work takes much memory and all cores. */
  startAlone(work: JobWork): void {
    const before = this.#last;
    this.#last = this.#track(async () => {
      await before;
      if (!this.#stopping.signal.aborted) await work(this.#stopping.signal);
    });
  }

  /** Calls `run` once, `ms` from now, unless the function that it returns is called first. Keeps no process alive. */
  after(ms: number, run: () => void): () => void {
    if (this.#stopping.signal.aborted) return () => undefined;
    const stopTimer = this.#clock.after(ms, () => {
      this.#timers.delete(cancel);
      run();
    });
    const cancel = () => {
      this.#timers.delete(cancel);
      stopTimer();
    };
    this.#timers.add(cancel);
    return cancel;
  }

  /** Cancels all timers, aborts the running work, and waits until it has ended. */
  async close(): Promise<void> {
    this.#stopping.abort(new SealdexError("internal", "maintenance: the client was closed"));
    for (const cancel of this.#timers) cancel();
    await Promise.all(this.#running);
  }

  #track(work: () => Promise<unknown>): Promise<void> {
    if (this.#stopping.signal.aborted) return Promise.resolve();
    const running = work()
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }
}
