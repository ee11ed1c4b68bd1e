/**
 * The calls in progress of one client: closing waits for them and admits no more, and an aborted one ends.
 *
 * Nothing of Node.js is used.
 */

import { SealdexError } from "./errors.js";
import { whenAborted } from "./when-aborted.js";

export class Calls {
  #running = 0;
  #closed = false;
  readonly #waiting: (() => void)[] = [];

  /**
   * Runs a call that changes something. `work` checks the signal itself, at points where stopping leaves nothing half-done, so
   * that a rejected call has changed nothing.
   */
  async change<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    this.#admit(signal);
    this.#running++;
    try {
      return await work();
    } finally {
      if (--this.#running === 0) for (const resume of this.#waiting.splice(0)) resume();
    }
  }

  /** Runs a call that only reads: it rejects as soon as the signal aborts, and what `work` still does is unheard. */
  look<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return untilAborted(this.change(signal, work), signal);
  }

  /** Runs a call that only reads, and waits for nothing. */
  lookNow<T>(signal: AbortSignal | undefined, work: () => T): T {
    this.#admit(signal);
    return work();
  }

  /** Refuses further calls, and resolves when none is in progress. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#running > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #admit(signal: AbortSignal | undefined): void {
    if (this.#closed)
      throw new SealdexError("invalid_request", "client: expected an open one, it was closed");
    checkSignal(signal);
    signal?.throwIfAborted();
  }
}

/** Settles as the promise does, or rejects with the signal's reason when that comes first. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!(signal instanceof AbortSignal)) return promise;
  return new Promise((resolve, reject) => {
    const stopListening = whenAborted(signal, () => reject(signal.reason));
    const settle = <V>(give: (value: V) => void, value: V) => {
      stopListening();
      give(value);
    };
    promise.then(
      (value) => settle(resolve, value),
      (error: unknown) => settle(reject, error),
    );
    if (signal.aborted) reject(signal.reason);
  });
}

function checkSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw new SealdexError("invalid_request", `signal: expected an AbortSignal, got ${typeof signal}`);
}
