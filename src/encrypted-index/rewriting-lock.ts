/**
 * Who may replace segments, within one process. One rewrite of the whole index (training, compaction on demand) runs at a time,
 * and one merge of small segments. A merge may run during a rewrite; it leaves alone the segments that the rewrite reads.
 */

import { untilAborted } from "../calls.js";
import type { SegmentRef } from "../commit/manifest.js";

export class RewritingLock {
  #rewriting: Promise<unknown> | undefined;
  #reserved: ReadonlySet<string> = new Set();
  #isMerging = false;
  #compactionOwed = false;

  /** Whether a commit of this process left segments that it should merge before its next write. */
  get compactionOwed(): boolean {
    return this.#compactionOwed;
  }

  oweCompaction(): void {
    this.#compactionOwed = true;
  }

  /** Runs a rewrite of the whole index: waits until no other does, or rejects if the signal aborts before. */
  async rewrite(signal: AbortSignal | undefined, work: () => Promise<void>): Promise<void> {
    while (this.#rewriting !== undefined) {
      await untilAborted(
        this.#rewriting.catch(() => undefined),
        signal,
      );
    }
    this.#rewriting = work();
    try {
      await this.#rewriting;
    } finally {
      this.#rewriting = undefined;
      this.#reserved = new Set();
    }
  }

  /** For a rewrite: these segments are not to be merged until it is done. */
  reserve(segments: readonly SegmentRef[]): void {
    this.#reserved = new Set(segments.map(({ name }) => name));
  }

  /** The segments that may be merged: those newer than all that are reserved. */
  mergeable(segments: readonly SegmentRef[]): readonly SegmentRef[] {
    return segments.slice(segments.findLastIndex(({ name }) => this.#reserved.has(name)) + 1);
  }

  /** Runs a merge of small segments, unless one runs already. `work` returns whether more are due. */
  async merge(work: () => Promise<boolean>): Promise<void> {
    if (this.#isMerging) return;
    this.#isMerging = true;
    try {
      this.#compactionOwed = await work();
    } finally {
      this.#isMerging = false;
    }
  }
}
