/** Vectors of the queries that were asked last: the same question is embedded once. */

import { memoize } from "../memoize.js";
import type { EmbeddedVector } from "./embedder.js";

const queriesMax = 256;
/** Longer queries are rare, and are not kept. */
const charactersMax = 2000;

export class QueryCache {
  readonly #kept = new Map<string, Promise<EmbeddedVector>>();

  /** What `embed` gave for this text, if it is among the last ones; a failure is forgotten. */
  get(text: string, embed: () => Promise<EmbeddedVector>): Promise<EmbeddedVector> {
    if (text.length > charactersMax) return embed();
    const found = memoize(this.#kept, text, embed);
    // Put back at the end: the order of a Map is the order of insertion.
    this.#kept.delete(text);
    this.#kept.set(text, found);
    if (this.#kept.size > queriesMax) this.#kept.delete([...this.#kept.keys()][0]);
    return found;
  }
}
