/** Caches the vectors of recent queries. */

import { memoize } from "../memoize.js";
import type { EmbeddedVector } from "./embedder.js";

const queriesMax = 256;
/** 8 bytes per component. Small, since a process may have many indexes open. */
const bytesMax = 2 * 1024 * 1024;
/** Longer queries are rare and not cached. */
const charactersMax = 2000;

export class QueryCache {
  readonly #kept = new Map<string, Promise<EmbeddedVector>>();
  #max = queriesMax;

  /** Returns the cached vector of this text, or calls `embed`. A failure is not cached. */
  get(text: string, embed: () => Promise<EmbeddedVector>): Promise<EmbeddedVector> {
    if (text.length > charactersMax) return embed();
    const found = memoize(this.#kept, text, () => this.#measured(embed));
    // Moves the entry to the end: a Map keeps the order of insertion.
    this.#kept.delete(text);
    this.#kept.set(text, found);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#max) break;
      this.#kept.delete(oldest);
    }
    return found;
  }

  /** All vectors of a cache come from one model. */
  async #measured(embed: () => Promise<EmbeddedVector>): Promise<EmbeddedVector> {
    const vector = await embed();
    this.#max = Math.max(1, Math.min(queriesMax, Math.floor(bytesMax / (8 * vector.length))));
    return vector;
  }
}
