/**
 * Text to vector by meaning and by wording: the 256 components of the package `sealdex-model`, then a lexical vector of
 * the other components. Both have norm 1 and count the same; what only one of them knows decides alone.
 */

import { checkPeer, peerFailure } from "../peer-package.js";
import { lexicalVectorInPieces } from "./lexical.js";

/** Components that `sealdex-model` fills. */
export const meaningDimension = 256;

/** The vector of a text: `dimension` components of Euclidean norm 1, or all 0 if the text has no words; with pauses. */
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
