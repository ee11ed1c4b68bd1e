/** Unsigned 32-bit integers, to whose end more are added. */

import type { Work } from "./work.js";

const firstChunk = 2 ** 10;
/** Longer chunks would take long to allocate, or to copy. */
const chunkMax = 2 ** 16;

export class Uint32List {
  readonly #full: Uint32Array[] = [];
  #chunk = new Uint32Array(firstChunk);
  #used = 0;
  #fullLength = 0;

  get length(): number {
    return this.#fullLength + this.#used;
  }

  push(word: number): void {
    if (this.#used === this.#chunk.length) {
      this.#full.push(this.#chunk);
      this.#fullLength += this.#used;
      this.#chunk = new Uint32Array(Math.min(chunkMax, 2 * this.#used));
      this.#used = 0;
    }
    this.#chunk[this.#used++] = word;
  }

  /** What was added, as one array. */
  *joined(): Work<Uint32Array> {
    const words = new Uint32Array(this.length);
    let at = 0;
    for (const chunk of this.#full) {
      words.set(chunk, at);
      at += chunk.length;
      if (chunk.length === chunkMax) yield;
    }
    words.set(this.#chunk.subarray(0, this.#used), at);
    return words;
  }
}
