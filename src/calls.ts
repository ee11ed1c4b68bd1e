/**
 * The calls in progress of one client: closing waits for them and admits no more, and an aborted one ends.
 *
 * Nothing of Node.js is used.
 */

import { SealdexError } from "./errors.js";
import { whenAborted } from "./when-aborted.js";
import { isAbortSignal } from "./value-kinds.js";

/** Turns of the event loop, which calls that wait for nothing would hold if they are awaited one after another. */
export interface Turns {
  /** Whether such calls have held this one for long. */
  isOver(): boolean;
  /** Resolves in the next one. */
  next(): Promise<void>;
}

export class Calls {
  #running = 0;
  #closed = false;
  readonly #waiting: (() => void)[] = [];
  readonly #turns: Turns | undefined;

  /** `turns`: of a client whose calls may wait for nothing. */
  constructor(turns?: Turns) {
    this.#turns = turns;
  }

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
    const turns = this.#turns;
    const later = turns?.isOver() ? () => turns.next().then(work) : work;
    return untilAborted(this.change(signal, later), signal);
  }

  /** Runs a call that only reads, and waits for nothing. Undefined if it is somebody else's turn: `look` waits for that. */
  lookNow<T>(signal: AbortSignal | undefined, work: () => T): T | undefined {
    this.#admit(signal);
    return this.#turns?.isOver() ? undefined : work();
  }

  /** Refuses further calls, and resolves when none is in progress. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#running > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #admit(signal: AbortSignal | undefined): void {
    if (this.#closed) throw new SealdexError("invalid_request", "the client is closed");
    checkSignal(signal);
    signal?.throwIfAborted();
  }
}

/** Settles as the promise does, or rejects with the signal's reason when that comes first. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!isAbortSignal(signal)) return promise;
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
  if (signal === undefined || isAbortSignal(signal)) return;
  throw new SealdexError("invalid_request", `signal: expected an AbortSignal, got ${typeof signal}`);
}
