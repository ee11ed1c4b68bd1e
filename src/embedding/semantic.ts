/**
 * Vectors of meaning and wording: 256 components of the package `sealdex-model`, then a lexical
 * vector. Both parts have norm 1 and the same weight; if one part is zero, the other decides.
 */

import { checkPeer, peerFailure } from "../peer-package.js";
import { lexicalVectorInPieces } from "./lexical.js";

/** Components of `sealdex-model`. */
export const meaningDimension = 256;

/** Computes `dimension` components of norm 1, or all 0 for a text without words; with pauses. */
export type TextVector = (text: string, dimension: number) => Generator<void, Float32Array>;

/** Throws `not_supported` if `sealdex-model` is not installed. */
export async function loadSemanticVector(model: string): Promise<TextVector> {
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
