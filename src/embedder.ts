/**
 * What turns texts into vectors, and the embedding models that Sealdex knows by name. A LangChain `Embeddings` object
 * is an `Embedder` by structure.
 */

import { SealdexError } from "./errors.js";
import { lexicalVector } from "./lexical.js";

export interface Embedder {
  /** One vector for each text, in order, all of one dimension. */
  embedDocuments(texts: string[]): Promise<number[][]>;
  embedQuery(text: string): Promise<number[]>;
}

/** An embedder whose dimension is known before it has seen a text. */
export interface NamedEmbedder extends Embedder {
  readonly dimension: number;
}

const dimensionMin = 16;
const dimensionMax = 8192;

/** Characters embedded before other work gets its turn: about 10 ms. */
const charactersAtATime = 250_000;

/**
 * The embedder of a model name. Known: `sealdex/lexical-<d>` with d from 16 to 8,192, such as `sealdex/lexical-512`,
 * which needs no download and matches words, not meaning. Throws `invalid_request` for any other name.
 */
export function embedderByName(name: string): NamedEmbedder {
  const [, digits] = /^sealdex\/lexical-([1-9][0-9]{0,3})$/.exec(name) ?? [];
  const dimension = Number(digits);
  if (!isDimension(dimension)) {
    const came = typeof name === "string" ? JSON.stringify(name.slice(0, 100)) : typeof name;
    throw new SealdexError(
      "invalid_request",
      `embedding model: expected sealdex/lexical-<d> with d from ${dimensionMin} to ${dimensionMax}, ` +
        `such as sealdex/lexical-512, got ${came}`,
    );
  }
  return lexicalEmbedder(dimension);
}

/** The built-in lexical embedder. Throws `invalid_request` unless `dimension` is an integer from 16 to 8,192. */
export function lexicalEmbedder(dimension: number): NamedEmbedder {
  if (!isDimension(dimension)) {
    const came = typeof dimension === "number" ? dimension : typeof dimension;
    throw new SealdexError(
      "invalid_request",
      `dimension: expected an integer from ${dimensionMin} to ${dimensionMax}, got ${came}`,
    );
  }
  return {
    dimension,
    async embedDocuments(texts) {
      texts.forEach((text, i) => checkText(text, `texts[${i}]`));
      const vectors: number[][] = [];
      let characters = 0;
      for (const text of texts) {
        if (characters >= charactersAtATime) {
          await new Promise((resolve) => setImmediate(resolve));
          characters = 0;
        }
        vectors.push(Array.from(lexicalVector(text, dimension)));
        // A text costs something however short it is: its vector.
        characters += text.length + dimension;
      }
      return vectors;
    },
    async embedQuery(text) {
      checkText(text, "text");
      return Array.from(lexicalVector(text, dimension));
    },
  };
}

function isDimension(dimension: number): boolean {
  return Number.isInteger(dimension) && dimension >= dimensionMin && dimension <= dimensionMax;
}

function checkText(text: unknown, where: string): asserts text is string {
  if (typeof text !== "string") {
    throw new SealdexError("invalid_request", `${where}: expected a string, got ${typeof text}`);
  }
}
