/** Centroids as bytes: each in the lowest precision that holds it exactly (round-centroids.ts). FORMAT.md §6. */

import { countRows, gather, sortByList } from "../engine/rows.js";
import { decodeScalars, encodeScalars, roundVectors, scalarRowBytes } from "../engine/scalar.js";
import { SealdexError } from "../errors.js";

/** As they are numbered; the first stands for float32. */
const precisions = [undefined, "float16", "int8"] as const;

/** The number of each centroid's precision, then those of each precision. `centroids`: layout (n, dimension). */
export function encodeCentroids(centroids: Float32Array, dimension: number): Uint8Array[] {
  const numbers = new Uint32Array(centroids.length / dimension);
  precisions.forEach((precision, number) => {
    if (precision === undefined) return;
    const rounded = centroids.slice();
    roundVectors(rounded, precision, dimension);
    // Lower ones come later.
    numbers.forEach((_, list) => {
      if (isSameRow(rounded, centroids, list, dimension)) numbers[list] = number;
    });
  });
  const order = sortByList(numbers, precisions.length);
  const sizes = countRows(numbers, precisions.length);
  let first = 0;
  const sections = precisions.map((precision, number) => {
    const own = gather(centroids, dimension, order.subarray(first, (first += sizes[number])));
    return precision === undefined ? bytesOf(own) : encodeScalars(own, { precision, dimension });
  });
  return [Uint8Array.from(numbers), ...sections];
}

/** What `encodeCentroids` encoded: n centroids. `take` returns the next bytes, so many, or throws. */
export function decodeCentroids(
  take: (length: number) => Uint8Array,
  n: number,
  dimension: number,
): Float32Array {
  const numbers = Uint32Array.from(take(n));
  if (numbers.some((number) => number >= precisions.length)) {
    throw new SealdexError("corrupt", "stored model: a centroid has a precision that there is not");
  }
  const sizes = countRows(numbers, precisions.length);
  const sections = precisions.map((precision, number) => {
    const rowBytes = precision === undefined ? 4 * dimension : scalarRowBytes({ precision, dimension });
    return take(sizes[number] * rowBytes);
  });
  const centroids = new Float32Array(n * dimension);
  const order = sortByList(numbers, precisions.length);
  let first = 0;
  precisions.forEach((precision, number) => {
    const size = sizes[number];
    const own =
      precision === undefined
        ? new Float32Array(new Uint8Array(sections[number]).buffer)
        : decodeScalars(sections[number], size, { precision, dimension });
    for (let i = 0; i < size; i++)
      centroids.set(own.subarray(i * dimension, (i + 1) * dimension), order[first + i] * dimension);
    first += size;
  });
  return centroids;
}

/** Bit by bit: a zero has a sign. */
function isSameRow(a: Float32Array, b: Float32Array, row: number, dimension: number): boolean {
  for (let i = row * dimension; i < (row + 1) * dimension; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
