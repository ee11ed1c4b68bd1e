// How long the event loop of this process is held, seen by a timer that is due every millisecond.

import { closeSync, openSync, readSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";

export class Holds {
  /** Longest hold so far, in milliseconds. */
  #held = 0;
  /** Longest hold without the time that the thread waited for a processor, which other processes had. */
  #busy = 0;
  #pause = 0;
  #waiting = openSchedule();
  #collections = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) this.#pause = Math.max(this.#pause, duration);
  });

  constructor() {
    this.#collections.observe({ entryTypes: ["gc"] });
    this.#tick(performance.now(), this.#waiting());
  }

  reset() {
    this.#held = this.#busy = this.#pause = 0;
  }

  /** `held`, `busy` and the longest pause for garbage collection since the last reset, in milliseconds. */
  read() {
    return { held: this.#held, busy: this.#busy, pause: this.#pause };
  }

  #tick(at, waited) {
    setTimeout(() => {
      const now = performance.now();
      const waitedNow = this.#waiting();
      this.#held = Math.max(this.#held, now - at);
      this.#busy = Math.max(this.#busy, now - at - (waitedNow - waited));
      this.#tick(now, waitedNow);
    }, 1).unref();
  }
}

/** Reads how long the main thread has waited for a processor, in milliseconds; 0 where the system does not say. */
function openSchedule() {
  let file;
  try {
    file = openSync(`/proc/self/task/${process.pid}/schedstat`);
  } catch {
    return () => 0;
  }
  process.once("exit", () => closeSync(file));
  const text = Buffer.alloc(64);
  return () => Number(text.latin1Slice(0, readSync(file, text, 0, text.length, 0)).split(" ")[1]) / 1e6;
}
