/**
 * Counts the running calls of a client, so that closing can wait for them. Uses no Node.js modules.
 */

import { isAbortSignal, isPromise } from "../checks/value-kinds.js";
import { SealdexError } from "../errors.js";
import { whenAborted } from "./abort.js";

/**
 * Turns of the event loop. Calls without waits that are awaited one after another would block it.
 */
interface Turns {
  /** Whether such calls have held this turn for long. */
  isOver(): boolean;
  /** Resolves in the next turn. */
  next(): Promise<void>;
}

export class Calls {
  #running = 0;
  #closed = false;
  readonly #waiting: (() => void)[] = [];
  readonly #turns: Turns | undefined;

  /** `turns`: for a client whose calls may be synchronous. */
  constructor(turns?: Turns) {
    this.#turns = turns;
  }

  /**
   * Runs a change. `work` checks the signal itself, at points where stopping leaves nothing
   * half-done, so that a rejected call has changed nothing.
   */
  async write<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    this.#admit(signal);
    return this.#during(work());
  }

  /**
   * Runs a read. It rejects as soon as the signal aborts; the result of `work` is then ignored. If
   * `work` is synchronous, so is the result, unless synchronous calls have held the event loop for
   * long: then `work` runs in the next turn.
   */
  read<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
  read<T>(signal: AbortSignal | undefined, work: () => Promise<T> | T): Promise<T> | T;
  read<T>(signal: AbortSignal | undefined, work: () => Promise<T> | T): Promise<T> | T {
    this.#admit(signal);
    const turns = this.#turns;
    const result = turns?.isOver() ? turns.next().then(work) : work();
    return isPromise(result) ? untilAborted(this.#during(result), signal) : result;
  }

  async #during<T>(work: Promise<T>): Promise<T> {
    this.#running++;
    try {
      return await work;
    } finally {
      if (--this.#running === 0) for (const resume of this.#waiting.splice(0)) resume();
    }
  }

  /** Refuses further calls, and resolves when all running ones have ended. */
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

/** Settles like the promise, or rejects with the signal's reason if it aborts first. */
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

// Generators that read their arguments at the call instead of at the first item.

/** Calls `make` now. Its errors are thrown when the first item is requested. */
export function generatorOf<I>(
  make: () => AsyncGenerator<I, void, undefined>,
): AsyncGenerator<I, void, undefined> {
  try {
    return make();
  } catch (error) {
    return failing(error);
  }
}

// oxlint-disable-next-line require-yield
async function* failing<I>(error: unknown): AsyncGenerator<I, void, undefined> {
  throw error;
}
