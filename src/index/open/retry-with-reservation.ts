/**
 * Retries a change that reads before it commits, because commits of others may make an attempt void. After the first conflict it reserves the
 * next commit, so that faster writers cannot starve it.
 */

import { reservationMsMax } from "../../state/commit/manifest.js";
import type { OpenIndex } from "./open-index.js";

/** How long other writers wait for a change that lost a race, at least, in milliseconds. */
const reservationMsMin = 250;

/** One attempt. `reservation`: for its commit, see `ManifestLog.reserveNextCommit`. Returns null if others made it void. */
export type Attempt<T> = (reservation: string | undefined) => Promise<T | null>;

/** The result of the first attempt that is not void; null if `attemptsMax` are. */
export async function retryWithReservation<T>(
  index: OpenIndex,
  attempt: Attempt<T>,
  attemptsMax = Infinity,
): Promise<T | null> {
  let reservation: string | undefined;
  try {
    for (let lost = 1; ; lost++) {
      const began = index.clock.steady();
      const result = await attempt(reservation);
      if (result !== null || lost >= attemptsMax) return result;
      const tookMs = index.clock.steady() - began;
      reservation = await index.log.reserveNextCommit(
        Math.max(reservationMsMin, Math.min(reservationMsMax, 2 * tookMs)),
      );
    }
  } finally {
    if (reservation !== undefined) await index.log.releaseReservation(reservation);
  }
}
