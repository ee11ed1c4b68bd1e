/** Work that only `close()` of the client waits for. */

import type { Clock } from "../commit/clock.js";
import type { WritePauses } from "./write-pauses.js";

export class Background {
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #waiting = new Set<() => void>();
  /** Of indexes for whose next pause work waits. */
  readonly #pauses = new Set<WritePauses>();

  /** Starts work that other processes repeat if it fails or is aborted by the signal: neither is reported. */
  start(work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#stopping.signal.aborted) return;
    const running = work(this.#stopping.signal)
      .catch(() => undefined)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** As `start`, `ms` from now. Keeps no process alive. */
  startAfter(clock: Clock, ms: number, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#stopping.signal.aborted) return;
    const cancel = clock.after(ms, () => {
      this.#waiting.delete(cancel);
      this.start(work);
    });
    this.#waiting.add(cancel);
  }

  /** As `start`, once the writes of an index pause, unless work waits for that already. */
  startAtPause(pauses: WritePauses, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#stopping.signal.aborted) return;
    this.#pauses.add(pauses);
    pauses.next(this, () => {
      this.#pauses.delete(pauses);
      this.start(work);
    });
  }

  /** Gives up what waits, stops all work at its next step, and waits for that. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const cancel of this.#waiting) cancel();
    this.#waiting.clear();
    for (const pauses of this.#pauses) pauses.cancel(this);
    this.#pauses.clear();
    await Promise.all(this.#running);
  }
}
