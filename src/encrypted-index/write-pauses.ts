/**
 * When the writes of an index pause: work that rewrites much of it waits for that, so that a load in many writes is rewritten once, at its
 * end.
 */

import type { Clock } from "../commit/clock.js";

/** Writes have paused if none was running for so long; a stream of writes that never pauses is waited for no longer than this. */
export const pauseMs = 1000;
export const pauseMsMax = 30_000;

interface Waiting {
  readonly since: number;
  readonly start: () => void;
  /** Of its timer. */
  cancel(): void;
}

export class WritePauses {
  readonly #clock: Clock;
  readonly #waiting = new Map<object, Waiting>();
  /** Writes that are running. */
  #running = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs a write. While it runs, writes have not paused. */
  async during<T>(write: () => Promise<T>): Promise<T> {
    this.#count(1);
    try {
      return await write();
    } finally {
      this.#count(-1);
    }
  }

  /** Calls `start` at the next pause, unless `owner` waits for it already. */
  next(owner: object, start: () => void): void {
    if (this.#waiting.has(owner)) return;
    this.#waiting.set(owner, { since: this.#clock.steady(), start, cancel: () => undefined });
    this.#setTimer(owner);
  }

  /** Forgets what `owner` waits for. */
  cancel(owner: object): void {
    this.#waiting.get(owner)?.cancel();
    this.#waiting.delete(owner);
  }

  #count(change: 1 | -1): void {
    this.#running += change;
    for (const owner of this.#waiting.keys()) this.#setTimer(owner);
  }

  #setTimer(owner: object): void {
    const waiting = this.#waiting.get(owner);
    if (waiting === undefined) return;
    waiting.cancel();
    const left = Math.max(0, waiting.since + pauseMsMax - this.#clock.steady());
    const delay = this.#running > 0 ? left : Math.min(pauseMs, left);
    const cancel = this.#clock.after(delay, () => {
      this.#waiting.delete(owner);
      waiting.start();
    });
    this.#waiting.set(owner, { ...waiting, cancel });
  }
}
