/**
 * Attempts at a change that takes longer than a write, because it reads what others commit first. What they commit meanwhile may
 * make an attempt void; after that, the others are asked to wait for the next one.
 */

import { turnMsMax } from "../commit/manifest.js";
import type { OpenIndex } from "./open-index.js";

/** How long other writers wait for a change that lost a race, at least, in milliseconds. */
const turnMsMin = 250;

/** One attempt. `turn`: for its commit, see `ManifestLog.claimTurn`. Returns null if others made it void. */
export type Attempt<T> = (turn: string | undefined) => Promise<T | null>;

/** The result of the first attempt that is not void; null if `attemptsMax` are. */
export async function takeTurns<T>(
  index: OpenIndex,
  attempt: Attempt<T>,
  attemptsMax = Infinity,
): Promise<T | null> {
  let turn: string | undefined;
  try {
    for (let lost = 1; ; lost++) {
      const began = index.clock.steady();
      const result = await attempt(turn);
      if (result !== null || lost >= attemptsMax) return result;
      const tookMs = index.clock.steady() - began;
      turn = await index.log.claimTurn(Math.max(turnMsMin, Math.min(turnMsMax, 2 * tookMs)));
    }
  } finally {
    if (turn !== undefined) await index.log.releaseTurn(turn);
  }
}
