/**
 * Which work may replace segments, within one process. One rewrite (training, compaction on demand, a merge of large segments)
 * runs at a time, and one merge of small segments. A merge of small ones may run during a rewrite; it leaves alone the segments
 * that the rewrite reads. A merge of large ones gives way to other rewrites.
 */

import { untilAborted } from "../../async/calls.js";
import type { SegmentRef } from "../../state/commit/manifest.js";
import { SealdexError } from "../../errors.js";
import { whenAborted } from "../../async/abort.js";

export class RewritingLock {
  #rewriting: Promise<unknown> | undefined;
  #reserved: ReadonlySet<string> = new Set();
  #merging: Promise<void> | undefined;
  /** Ends a merge of large segments. */
  #preemptable: AbortController | undefined;

  /** Runs a rewrite of the whole index: waits until no other does, or rejects if the signal aborts before. */
  async rewrite(signal: AbortSignal | undefined, work: () => Promise<void>): Promise<void> {
    while (this.#rewriting !== undefined) {
      this.#preemptable?.abort(new SealdexError("internal", "merge preempted by another rewrite"));
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

  /** Runs a merge of large segments, unless a rewrite runs. Its signal aborts with `signal`, or because another rewrite is to run. */
  async mergeLarge(signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (this.#rewriting !== undefined) return;
    const preemptable = new AbortController();
    const stopListening = whenAborted(signal, () => preemptable.abort(signal.reason));
    this.#preemptable = preemptable;
    try {
      await this.rewrite(preemptable.signal, () => work(preemptable.signal));
    } finally {
      this.#preemptable = undefined;
      stopListening();
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

  /** The merge of small segments that runs. It resolves when that ends, however it ends. */
  get merging(): Promise<void> | undefined {
    return this.#merging;
  }

  /** Runs a merge of small segments, unless one runs already. */
  async mergeSmall(work: () => Promise<void>): Promise<void> {
    if (this.#merging !== undefined) return;
    const merged = work();
    const end = () => {
      this.#merging = undefined;
    };
    this.#merging = merged.then(end, end);
    await merged;
  }
}
