/** Time, as the commit protocol, garbage collection and automatic training need it: injected, so that tests can let hours pass. */

import { performance, timers } from "../../async/timers.js";

export interface Clock {
  /** Milliseconds since 1970. Clocks of processes that share an index may differ by up to 10 minutes. */
  wall(): number;
  /** Milliseconds since any moment; never goes back, but may stand still while the machine sleeps. */
  steady(): number;
  /** Waits a random part of `ms`. */
  pause(ms: number): Promise<void>;
  /** Calls `run` once, `ms` from now, unless the function that it returns is called first. Keeps no process alive. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  wall: () => Date.now(),
  steady: () => performance.now(),
  pause: (ms) =>
    new Promise((resolve) => {
      timers.setTimeout(resolve, Math.random() * ms);
    }),
  after(ms, run) {
    const timer = timers.setTimeout(run, ms).unref();
    return () => timers.clearTimeout(timer);
  },
};

/** A moment, as read from both clocks. */
export interface Instant {
  readonly wall: number;
  readonly steady: number;
}

export function instant(clock: Clock): Instant {
  return { wall: clock.wall(), steady: clock.steady() };
}

/** Milliseconds since a moment: never too few, as long as at most one of the two clocks is wrong. */
export function elapsedMs(clock: Clock, since: Instant): number {
  return Math.max(clock.wall() - since.wall, clock.steady() - since.steady);
}
