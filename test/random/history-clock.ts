/** Time of a random history: it stands, jumps when the history says so, and passes while a call waits. */

import { setImmediate as turn } from "node:timers/promises";
import { StandingClock } from "../protocol/standing-clock.js";

export class HistoryClock extends StandingClock {
  override pause = async (ms: number): Promise<void> => {
    this.advance(ms);
    await turn();
  };
}
