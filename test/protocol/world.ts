/**
 * A world with its own time: whatever waits, waits in a queue, and one seed decides how long. Nothing else of a run is left to
 * chance, so the same seed gives the same run.
 */

import type { Clock } from "../../src/state/commit/clock.js";
import { SealdexError } from "../../src/errors.js";
import { seededRandom } from "../../src/engine/random.js";
import type { BlobStore } from "../../src/storage/blob-store.js";

interface Event {
  readonly due: number;
  readonly happen: () => void;
}

/** Turns of the event loop in which nothing waits and no process ends, after which a run counts as stuck. */
const idleTurnsMax = 10_000_000;

export class World {
  /** Milliseconds since the beginning. */
  now = 0;
  readonly random: () => number;
  /** Events in order: equal for equal seeds. */
  readonly trace: string[] = [];
  readonly #events: Event[] = [];

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  /** A whole number from `min` to `max`. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.random() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.integer(0, choices.length - 1)];
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const event = { due: this.now + ms, happen: resolve };
      // Events of the same moment happen in the order in which they were made.
      const at = this.#events.findLastIndex(({ due }) => due <= event.due) + 1;
      this.#events.splice(at, 0, event);
    });
  }

  /** Lets time pass until `work` is done, and returns its result. */
  async run<T>(work: Promise<T>): Promise<T> {
    let settled = false;
    const end = () => {
      settled = true;
    };
    work.then(end, end);
    for (let idle = 0; !settled;) {
      // All ready work continues; work longer than a turn takes time, as usual.
      await new Promise(setImmediate);
      const next = this.#events.shift();
      if (next === undefined) {
        if (++idle > idleTurnsMax) throw new Error("the run is stuck: nothing waits and no process ends");
        continue;
      }
      idle = 0;
      this.now = next.due;
      next.happen();
    }
    return work;
  }

  /** A process's clock, `skewMs` off. */
  clock(skewMs: number): Clock {
    const start = 1_800_000_000_000;
    return {
      wall: () => Math.floor(start + this.now + skewMs),
      steady: () => this.now,
      pause: (ms) => this.wait(this.random() * ms),
      after: (ms, run) => {
        let cancelled = false;
        void this.wait(ms).then(() => cancelled || run());
        return () => void (cancelled = true);
      },
    };
  }
}

/** Faults, each with its probability per call of the store. */
export interface Faults {
  /** The call fails and had no effect. */
  readonly before: number;
  /** The call fails and had its effect. */
  readonly after: number;
  /** The call fails, and has its effect up to five minutes later. */
  readonly late: number;
  /** The call takes minutes to days. */
  readonly stall: number;
}

export const noFaults: Faults = { before: 0, after: 0, late: 0, stall: 0 };

const minute = 60_000;
const stalls = [2 * minute, 10 * minute, 40 * minute, 5 * 60 * minute, 30 * 60 * minute];
const lateMsMax = 5 * minute;

/** A store as one process sees it: every call takes its time, and now and then something happens to it. */
export function simulatedStore(world: World, store: BlobStore, who: string, faults: () => Faults): BlobStore {
  const latency = world.pick([1, 10, 100]);
  const lost = (what: string) =>
    new SealdexError("storage_unavailable", `simulated storage: ${who} lost its ${what}`);

  async function call<T>(name: string, effect: () => Promise<T>): Promise<T> {
    const { before, after, late, stall } = faults();
    const fate = world.random();
    const stalledMs = world.chance(stall) ? world.pick(stalls) * world.random() : 0;
    const stallsAfter = world.chance(0.5);
    await world.wait(latency * world.random() + (stallsAfter ? 0 : stalledMs));
    if (fate < before) throw lost("request");
    if (fate < before + late) {
      void world.wait(lateMsMax * world.random()).then(effect);
      throw lost("patience");
    }
    const result = await effect();
    await world.wait(latency * world.random() + (stallsAfter ? stalledMs : 0));
    const outcome = fate < before + late + after ? "acknowledgement lost" : "";
    world.trace.push(`${world.now.toFixed(3)} ${who} ${name} ${outcome}`);
    if (outcome !== "") throw lost("acknowledgement");
    return result;
  }

  return {
    read: (key, range) => call("read", () => store.read(key, range)),
    create: (key, bytes) => call("create", () => store.create(key, bytes)),
    list: (prefix, options) => call("list", () => store.list(prefix, options)),
    async delete(keys) {
      // One after the other, in the order given; a failure leaves the rest.
      for (const key of keys) await call("delete", () => store.delete([key]));
    },
    async close() {},
  };
}
