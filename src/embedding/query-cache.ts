/** Vectors of the queries that were asked last: the same question is embedded once. */

import { memoize } from "../memoize.js";
import type { EmbeddedVector } from "./embedder.js";

const queriesMax = 256;
/** Of their vectors, 8 per component. A process may have many indexes open. */
const bytesMax = 2 * 1024 * 1024;
/** Longer queries are rare, and are not kept. */
const charactersMax = 2000;

export class QueryCache {
  readonly #kept = new Map<string, Promise<EmbeddedVector>>();
  #max = queriesMax;

  /** What `embed` gave for this text, if it is among the last ones; a failure is forgotten. */
  get(text: string, embed: () => Promise<EmbeddedVector>): Promise<EmbeddedVector> {
    if (text.length > charactersMax) return embed();
    const found = memoize(this.#kept, text, () => this.#measured(embed));
    // Put back at the end: the order of a Map is the order of insertion.
    this.#kept.delete(text);
    this.#kept.set(text, found);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#max) break;
      this.#kept.delete(oldest);
    }
    return found;
  }

  /** All vectors of a cache are of one model. */
  async #measured(embed: () => Promise<EmbeddedVector>): Promise<EmbeddedVector> {
    const vector = await embed();
    this.#max = Math.max(1, Math.min(queriesMax, Math.floor(bytesMax / (8 * vector.length))));
    return vector;
  }
}
