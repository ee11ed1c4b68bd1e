/**
 * Limits concurrent use of a resource, in any unit. An owner that has some may take no more than is
 * left, as in Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
 * switches" (1998): half of it alone, a third next to another, and so on, so that some is left for
 * others. Waiting owners with the least go first.
 */

import { SealdexError } from "sealdex/core";

interface Waiting {
  readonly owner: string;
  readonly weight: number;
  readonly admit: () => void;
  readonly refuse: () => void;
}

export class Semaphore {
  readonly #capacity: number;
  readonly #waitingMax: number;
  #taken = 0;
  /** By owner, for those with a share. */
  readonly #takenBy = new Map<string, number>();
  readonly #waiting: Waiting[] = [];

  constructor(capacity: number, waitingMax: number) {
    this.#capacity = capacity;
    this.#waitingMax = waitingMax;
  }

  /**
   * Takes `weight` if `owner` may have it now and no request waits; returns a function that releases
   * it. A weight above the capacity counts as all of it.
   */
  tryAcquire(owner: string, weight: number): (() => void) | undefined {
    const share = this.#shareOf(weight);
    return this.#waiting.length === 0 && this.#mayTake(owner, share) ? this.#take(owner, share) : undefined;
  }

  /**
   * Like `tryAcquire`, but waits. Rejects with the signal's reason if it aborts first, and with
   * `overloaded` if too many requests wait and no other owner has more of them.
   */
  async acquire(owner: string, weight: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    return this.tryAcquire(owner, weight) ?? this.#wait(owner, this.#shareOf(weight), signal);
  }

  #shareOf(weight: number): number {
    return Math.min(weight, this.#capacity);
  }

  #mayTake(owner: string, weight: number): boolean {
    return weight + (this.#takenBy.get(owner) ?? 0) <= this.#capacity - this.#taken;
  }

  #take(owner: string, weight: number): () => void {
    const add = (change: number) => {
      this.#taken += change;
      const own = (this.#takenBy.get(owner) ?? 0) + change;
      if (own === 0) this.#takenBy.delete(owner);
      else this.#takenBy.set(owner, own);
    };
    add(weight);
    let isInside = true;
    return () => {
      if (isInside) add(-weight);
      isInside = false;
      this.#admit();
    };
  }

  #wait(owner: string, weight: number, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        signal.removeEventListener("abort", leave);
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      };
      const leave = () => {
        end();
        reject(signal.reason);
        this.#admit();
      };
      const waiting: Waiting = {
        owner,
        weight,
        admit: () => {
          end();
          resolve(this.#take(owner, weight));
        },
        refuse: () => {
          end();
          reject(new SealdexError("overloaded", "the service has too many waiting requests"));
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiting);
      this.#admit();
      if (this.#waiting.length > this.#waitingMax) this.#newestOfMost().refuse();
    });
  }

  /** The newest request of the owner with the most waiting ones. */
  #newestOfMost(): Waiting {
    const counts = new Map<string, number>();
    for (const { owner } of this.#waiting) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    const most = Math.max(...counts.values());
    return this.#waiting.filter(({ owner }) => counts.get(owner) === most).at(-1) as Waiting;
  }

  #admit(): void {
    for (;;) {
      // Owners with the least first, each with its oldest request. A request that is too large for
      // the rest blocks the queue.
      const firsts = new Map<string, Waiting>();
      for (const waiting of this.#waiting) if (!firsts.has(waiting.owner)) firsts.set(waiting.owner, waiting);
      const own = ({ owner }: Waiting) => this.#takenBy.get(owner) ?? 0;
      const inOrder = [...firsts.values()].sort((a, b) => own(a) - own(b));
      const next = inOrder.find((each) => {
        return this.#mayTake(each.owner, each.weight) || each.weight > this.#capacity - this.#taken;
      });
      if (next === undefined || !this.#mayTake(next.owner, next.weight)) return;
      next.admit();
    }
  }
}
