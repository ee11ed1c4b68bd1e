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

  /** Takes `weight` if it fits now and nobody waits; returns a function that gives it back. More than the capacity counts as all of it. */
  tryAcquire(weight: number): (() => void) | undefined {
    const share = this.#shareOf(weight);
    if (this.#waiting.length > 0 || this.#taken + share > this.#capacity) return undefined;
    this.#taken += share;
    return this.#releaseOf(share);
  }

  /**
   * As `tryAcquire`, once it fits. Rejects with the signal's reason if that aborts first, and with `overloaded` if too many wait
   * already.
   */
  async acquire(weight: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const acquired = this.tryAcquire(weight);
    if (acquired !== undefined) return acquired;
    const share = this.#shareOf(weight);
    await this.#wait(share, signal);
    return this.#releaseOf(share);
  }

  #shareOf(weight: number): number {
    return Math.min(weight, this.#capacity);
  }

  #releaseOf(share: number): () => void {
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
