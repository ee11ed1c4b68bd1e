/** When a client looks for orphans by itself: after deletions, since these leave some, and rarely, since it lists all that wait. */

import type { Clock } from "../commit/clock.js";
import type { Background } from "./background.js";
import type { IndexFolders } from "./open-index.js";
import { deleteOrphans } from "./orphans.js";

/** What is found has to wait for a day, so that an hour more makes little difference. */
const pauseMs = 60 * 60 * 1000;

export class OrphanSweeps {
  readonly #background: Background;
  readonly #clock: Clock;
  #begunAt = -Infinity;

  constructor(background: Background, clock: Clock) {
    this.#background = background;
    this.#clock = clock;
  }

  /** Begins one, unless the last began less than an hour ago. */
  begin(stores: IndexFolders): void {
    const now = this.#clock.steady();
    if (now - this.#begunAt < pauseMs) return;
    this.#begunAt = now;
    this.#background.start(async (signal) => {
      await deleteOrphans(stores, this.#clock, { signal });
    });
  }
}
