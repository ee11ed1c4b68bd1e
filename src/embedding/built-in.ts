/** The built-in embedding models, by name. */

import { SealdexError } from "../errors.js";
import type { Embedder } from "./embedder.js";
import { yieldIfDue } from "../threads/yield-to-event-loop.js";
import { lexicalVectorInPieces } from "./lexical.js";
import { loadSemanticVector, meaningDimension, type TextVector } from "./semantic.js";

/** The model behind the name `default`. */
export const defaultModel = "sealdex/semantic-1024";

const lexicalMin = 16;
const semanticMin = meaningDimension + lexicalMin;
const dimensionMax = 8192;

/** Replaces `default` by the model's full name. */
export function modelName(name: string): string {
  return name === "default" ? defaultModel : name;
}

/** Patterns of built-in names, for messages. */
export const builtInNames = [
  "default",
  `sealdex/semantic-<d> with d from ${semanticMin} to ${dimensionMax}`,
  `sealdex/lexical-<d> with d from ${lexicalMin} to ${dimensionMax}`,
];

/**
 * Returns the embedder with a full name, or undefined if no built-in model has it. None needs a
 * download.
 *
 * `sealdex/semantic-<d>` with d from 272 to 8,192 matches meaning and wording, in English. Its
 * methods throw `not_supported` if the package `sealdex-model` is not installed.
 *
 * `sealdex/lexical-<d>` with d from 16 to 8,192 matches wording only, in all languages.
 */
export function builtInEmbedder(name: string): Embedder | undefined {
  const [, kind, digits] = /^sealdex\/(lexical|semantic)-([1-9][0-9]{0,3})$/.exec(name) ?? [];
  const dimension = Number(digits);
  if (kind === "lexical" && isDimension(dimension, lexicalMin)) return lexicalEmbedder(dimension);
  if (kind === "semantic" && isDimension(dimension, semanticMin)) {
    return textEmbedder(dimension, () => loadSemanticVector(name));
  }
  return undefined;
}

/** The built-in lexical embedder. Throws `invalid_request` unless `dimension` is an integer from 16 to 8,192. */
export function lexicalEmbedder(dimension: number): Embedder {
  if (!isDimension(dimension, lexicalMin)) {
    const received = typeof dimension === "number" ? dimension : typeof dimension;
    throw new SealdexError(
      "invalid_request",
      `dimension: expected an integer from ${lexicalMin} to ${dimensionMax}, got ${received}`,
    );
  }
  return textEmbedder(dimension, async () => lexicalVectorInPieces);
}

function textEmbedder(dimension: number, load: () => Promise<TextVector>): Embedder {
  return {
    async embedDocuments(texts) {
      texts.forEach((text, i) => checkText(text, `texts[${i}]`));
      const vectorOf = await load();
      const vectors: Float32Array[] = [];
      for (const text of texts) vectors.push(await finish(vectorOf(text, dimension)));
      return vectors;
    },
    async embedQuery(text) {
      checkText(text, "text");
      return finish((await load())(text, dimension));
    },
  };
}

/** Yields to the event loop at the pauses and between texts. */
async function finish<T>(work: Generator<void, T>): Promise<T> {
  await yieldIfDue();
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    await yieldIfDue();
  }
}

function isDimension(dimension: number, min: number): boolean {
  return Number.isInteger(dimension) && dimension >= min && dimension <= dimensionMax;
}

function checkText(text: unknown, where: string): asserts text is string {
  if (typeof text !== "string") {
    throw new SealdexError("invalid_request", `${where}: expected a string, got ${typeof text}`);
  }
}
