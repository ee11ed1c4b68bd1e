/**
 * Caches the terms of runs by their characters, since texts repeat most words. A lookup does not
 * slice the word out of its text, which would be most of the time of analysis. Hostile texts cause
 * evictions, not slow lookups.
 */

import type { Run } from "./split-run.js";

const runsMin = 1 << 10;
const runsMax = 1 << 16;
/** Slots where an entry may be. */
const ways = 4;
/** Longer runs are rare. */
const lengthMax = 40;

export class RunCache {
  #slots: (Run | undefined)[] = Array.from({ length: runsMin });
  #hashes = new Int32Array(runsMin);
  #stored = 0;

  /** Looks up the run of `text` from `start` to `end`. */
  get(text: string, start: number, end: number, hash: number): Run | undefined {
    const hashes = this.#hashes;
    const mask = hashes.length - 1;
    for (let way = 0; way < ways; way++) {
      const slot = (hash + way) & mask;
      if (hashes[slot] !== hash) continue;
      const run = this.#slots[slot];
      if (run !== undefined && run.text.length === end - start && text.startsWith(run.text, start))
        return run;
    }
    return undefined;
  }

  set(hash: number, run: Run): void {
    if (run.text.length > lengthMax) return;
    if (2 * this.#stored >= this.#slots.length && this.#slots.length < runsMax) this.#grow();
    this.#place(hash, run);
  }

  /** Stores into the first free slot, or replaces an entry. */
  #place(hash: number, run: Run): void {
    const mask = this.#slots.length - 1;
    let way = 0;
    while (way < ways - 1 && this.#slots[(hash + way) & mask] !== undefined) way++;
    const slot = (hash + way) & mask;
    if (this.#slots[slot] === undefined) this.#stored++;
    this.#slots[slot] = run;
    this.#hashes[slot] = hash;
  }

  #grow(): void {
    const runs = this.#slots;
    const hashes = this.#hashes;
    this.#slots = Array.from({ length: 2 * runs.length });
    this.#hashes = new Int32Array(2 * runs.length);
    this.#stored = 0;
    for (const [slot, run] of runs.entries()) if (run !== undefined) this.#place(hashes[slot], run);
  }
}
