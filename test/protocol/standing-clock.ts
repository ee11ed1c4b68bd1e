/** A clock that stands until it is put forward. */

import type { Clock } from "../../src/state/commit/clock.js";

interface Timer {
  readonly due: number;
  readonly run: () => void;
}

export class StandingClock implements Clock {
  ms: number;
  #timers: Timer[] = [];

  constructor(ms = 0) {
    this.ms = ms;
  }

  wall = () => 1_800_000_000_000 + this.ms;
  steady = () => this.ms;
  pause = async (_ms: number): Promise<void> => {};

  after(ms: number, run: () => void): () => void {
    const timer = { due: this.ms + ms, run };
    this.#timers.push(timer);
    return () => void (this.#timers = this.#timers.filter((other) => other !== timer));
  }

  /** How many calls of `after` are still to come. */
  get timers(): number {
    return this.#timers.length;
  }

  /** How many of them are due within so many milliseconds. */
  timersWithin(ms: number): number {
    return this.#timers.filter(({ due }) => due <= this.ms + ms).length;
  }

  /** Lets time pass, and calls the timers that are due by then. */
  advance(ms: number): void {
    this.ms += ms;
    const due = this.#timers.filter((timer) => timer.due <= this.ms);
    this.#timers = this.#timers.filter((timer) => timer.due > this.ms);
    for (const { run } of due.sort((a, b) => a.due - b.due)) run();
  }
}
