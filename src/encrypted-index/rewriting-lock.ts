/** Training and compaction run one at a time in a process: each replaces segments that the other may be reading. */

import { untilAborted } from "../calls.js";

export class RewritingLock {
  #running: Promise<unknown> | undefined;
  #compactionOwed = false;

  /** Whether training or compaction runs in this process. */
  get isHeld(): boolean {
    return this.#running !== undefined;
  }

  /** Whether a commit of this process left segments that it should merge before its next write. */
  get compactionOwed(): boolean {
    return this.#compactionOwed;
  }

  oweCompaction(): void {
    this.#compactionOwed = true;
  }

  settleCompaction(): void {
    this.#compactionOwed = false;
  }

  /** Runs `work` alone: waits first until nothing else holds the lock, or rejects if the signal aborts before. */
  async hold(signal: AbortSignal | undefined, work: () => Promise<void>): Promise<void> {
    while (this.#running !== undefined) {
      await untilAborted(
        this.#running.catch(() => undefined),
        signal,
      );
    }
    this.#running = work();
    try {
      await this.#running;
    } finally {
      this.#running = undefined;
    }
  }
}
