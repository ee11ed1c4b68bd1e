/** The built-in embedding models, by name. */

import { yieldIfDue } from "../async/event-loop.js";
import { checkPeer, peerFailure } from "../checks/peer-package.js";
import { SealdexError } from "../errors.js";
import type { Embedder } from "./embedder.js";
import { lexicalVectorInPieces } from "./lexical.js";

// Vectors of meaning and wording: 256 components of the package `sealdex-model`, then a lexical
// vector. Both parts have norm 1 and the same weight; if one part is zero, the other decides.

/** Components of `sealdex-model`. */
const meaningDimension = 256;

/** Computes `dimension` components of norm 1, or all 0 for a text without words; with pauses. */
type TextVector = (text: string, dimension: number) => Generator<void, Float32Array>;

/** Throws `not_supported` if `sealdex-model` is not installed. */
async function loadSemanticVector(model: string): Promise<TextVector> {
  const { embedInPieces } = await loadModelPackage(`embedding model ${model}`);
  return function* semanticVector(text, dimension) {
    const vector = new Float32Array(dimension);
    vector.set(yield* embedInPieces(text));
    vector.set(yield* lexicalVectorInPieces(text, dimension - meaningDimension), meaningDimension);
    return toUnitLength(vector);
  };
}

async function loadModelPackage(feature: string) {
  const peer = { name: "sealdex-model", range: "^0.1.0", feature, exports: ["embedInPieces"] };
  try {
    return checkPeer(await import("sealdex-model"), peer);
  } catch (cause) {
    throw peerFailure(cause, peer);
  }
}

function toUnitLength(vector: Float32Array): Float32Array {
  let squares = 0;
  for (let i = 0; i < vector.length; i++) squares += vector[i] * vector[i];
  if (squares === 0) return vector;
  const scale = 1 / Math.sqrt(squares);
  for (let i = 0; i < vector.length; i++) vector[i] *= scale;
  return vector;
}

/** The model behind the name `default`. */
const defaultModel = "sealdex/semantic-1024";

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
