/** Converts a vector to LangChain's array of numbers. */

import { invalid, isVector, typeName } from "../checks/input.js";

/** Throws `invalid_request` for another result of a model. `Array.from` takes four times as long for a typed array. */
export function toNumbers(vector: ArrayLike<number>): number[] {
  if (!isVector(vector) && !ArrayBuffer.isView(vector)) {
    throw invalid(`embeddings: expected vectors of numbers, got ${typeName(vector)}`);
  }
  const numbers: number[] = [];
  numbers.length = vector.length;
  for (let i = 0; i < vector.length; i++) numbers[i] = vector[i];
  return numbers;
}
