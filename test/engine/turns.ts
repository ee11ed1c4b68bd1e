/** Turns of the event loop while work runs, by a clock that only the test moves: no machine changes how many there are. */

import { vi } from "vitest";
import { performance } from "../../src/async/timers.js";

/** What the library's clock shows, in milliseconds. Far from 0, where nothing has yielded yet. */
let shownMs = 1_000_000;

/** Lets the clock of `turnsDuring` pass. */
export function pass(ms: number): void {
  shownMs += ms;
}

/** How often the event loop turns until `work` ends. The clock passes by `perLookMs` with each look at it, and by `pass`. */
export async function turnsDuring(work: () => Promise<unknown>, perLookMs = 0): Promise<number> {
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (shownMs += perLookMs));
  let turns = 0;
  let working = true;
  const turn = () => {
    turns++;
    if (working) setImmediate(turn);
  };
  setImmediate(turn);
  try {
    await work();
  } finally {
    working = false;
    clock.mockRestore();
  }
  return turns;
}
