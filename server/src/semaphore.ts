/** A limit on what is in progress at once, in any unit: callers that do not fit wait, first come, first served. */

import { SealdexError } from "sealdex/core";

interface Waiting {
  readonly weight: number;
  readonly admit: () => void;
}

export class Semaphore {
  readonly #capacity: number;
  readonly #waitingMax: number;
  #taken = 0;
  readonly #waiting: Waiting[] = [];

  constructor(capacity: number, waitingMax: number) {
    this.#capacity = capacity;
    this.#waitingMax = waitingMax;
  }

  /**
   * Resolves once `weight` fits, to a function that gives it back. More than the capacity counts as all of it. Rejects
   * with the signal's reason if that aborts first, and with `overloaded` if too many wait already.
   */
  async acquire(weight: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const share = Math.min(weight, this.#capacity);
    if (this.#waiting.length > 0 || this.#taken + share > this.#capacity) await this.#wait(share, signal);
    else this.#taken += share;
    let isInside = true;
    return () => {
      if (isInside) this.#taken -= share;
      isInside = false;
      this.#admit();
    };
  }

  #wait(weight: number, signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) {
      return Promise.reject(new SealdexError("overloaded", "the service has too many requests to work on"));
    }
    return new Promise((resolve, reject) => {
      const waiting = {
        weight,
        admit: () => {
          signal.removeEventListener("abort", leave);
          resolve();
        },
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal.reason);
        this.#admit();
      };
      this.#waiting.push(waiting);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #admit(): void {
    while (this.#waiting.length > 0 && this.#taken + this.#waiting[0].weight <= this.#capacity) {
      const [next] = this.#waiting.splice(0, 1);
      this.#taken += next.weight;
      next.admit();
    }
  }
}
