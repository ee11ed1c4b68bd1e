/** Converts a vector to LangChain's array of numbers. */

/** `Array.from` takes four times as long for a typed array. */
export function toNumbers(vector: ArrayLike<number>): number[] {
  const numbers: number[] = [];
  numbers.length = vector.length;
  for (let i = 0; i < vector.length; i++) numbers[i] = vector[i];
  return numbers;
}
