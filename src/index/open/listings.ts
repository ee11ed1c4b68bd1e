/**
 * The stored states that listings of a client need, whichever of its objects of an index they were begun with: the states that loops show, and
 * those that cursors name. A loop ends; a cursor may be used at any time.
 */

import type { Clock } from "../../state/commit/clock.js";
import { namedObjects } from "../../state/commit/manifest.js";
import { historyMs } from "../../state/commit/retention.js";
import type { HeldSnapshot } from "../../query/snapshot/open-snapshots.js";

export class Listings {
  readonly #clock: Clock;
  readonly #loops = new Set<HeldSnapshot>();
  /** By index, when a cursor was given out last; the latest comes last. */
  readonly #cursorsAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that a loop shows this. */
  begin(held: HeldSnapshot): void {
    this.#loops.add(held);
  }

  end(held: HeldSnapshot): void {
    this.#loops.delete(held);
  }

  /** The objects that loops show. */
  namesShown(): string[] {
    return [...this.#loops].flatMap(({ snapshot }) => [...namedObjects(snapshot.manifest)]);
  }

  /** Notes that a cursor of an index is given out. */
  noteCursor(indexId: Uint8Array): void {
    const now = this.#clock.steady();
    for (const [index, at] of this.#cursorsAt) {
      if (now - at < historyMs) break;
      this.#cursorsAt.delete(index);
    }
    const index = keyOf(indexId);
    this.#cursorsAt.delete(index);
    this.#cursorsAt.set(index, now);
  }

  /** Whether a cursor of an index was given out so lately that its state has to be kept. */
  hasCursor(indexId: Uint8Array): boolean {
    const at = this.#cursorsAt.get(keyOf(indexId));
    return at !== undefined && this.#clock.steady() - at < historyMs;
  }
}

function keyOf(indexId: Uint8Array): string {
  return Buffer.from(indexId).toString("hex");
}
