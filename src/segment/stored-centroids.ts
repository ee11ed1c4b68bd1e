/** Centroids as bytes: each in the lowest precision that holds it exactly (round-centroids.ts). docs/internals/format.md §6. */

import { countRows, gather, sortByList } from "../engine/rows.js";
import { decodeScalars, encodeScalars, roundVectors, scalarRowBytes } from "../engine/scalar.js";
import { rowsOfPiece, type Work } from "../engine/work.js";
import { SealdexError } from "../errors.js";

/** As they are numbered; the first stands for float32. */
const precisions = [undefined, "float16", "int8"] as const;

/** The number of each centroid's precision, then those of each precision. `centroids`: layout (n, dimension). */
export function* encodeCentroids(centroids: Float32Array, dimension: number): Work<Uint8Array[]> {
  const numbers = new Uint32Array(centroids.length / dimension);
  const listsTogether = rowsOfPiece(4 * dimension);
  for (let first = 0; first < numbers.length; first += listsTogether) {
    const exact = centroids.slice(first * dimension, (first + listsTogether) * dimension);
    const own = numbers.subarray(first, first + listsTogether);
    for (const [number, precision] of precisions.entries()) {
      if (precision === undefined) continue;
      const rounded = exact.slice();
      roundVectors(rounded, precision, dimension);
      // Lower precisions come later.
      for (const list of sameRows(exact, rounded, dimension)) own[list] = number;
    }
    yield;
  }
  const order = sortByList(numbers, precisions.length);
  const sizes = countRows(numbers, precisions.length);
  const parts: Uint8Array[] = [Uint8Array.from(numbers)];
  let first = 0;
  for (const [number, precision] of precisions.entries()) {
    const lists = order.subarray(first, (first += sizes[number]));
    const codes: Uint8Array[] = [];
    for (let at = 0; at < lists.length; at += listsTogether) {
      const own = gather(centroids, dimension, lists.subarray(at, at + listsTogether));
      if (precision === undefined) codes.push(bytesOf(own));
      else {
        const encoded = encodeScalars(own, { precision, dimension });
        const scaleBytes = (4 * own.length) / dimension;
        parts.push(encoded.subarray(0, scaleBytes));
        codes.push(encoded.subarray(scaleBytes));
      }
      yield;
    }
    parts.push(...codes);
  }
  return parts;
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
  for (const [number, precision] of precisions.entries()) {
    const size = sizes[number];
    const own =
      precision === undefined
        ? new Float32Array(new Uint8Array(sections[number]).buffer)
        : decodeScalars(sections[number], size, { precision, dimension });
    // Nearly always all are of one.
    if (size === n) return own;
    for (let i = 0; i < size; i++)
      centroids.set(own.subarray(i * dimension, (i + 1) * dimension), order[first + i] * dimension);
    first += size;
  }
  return centroids;
}

/** Rows that are the same bit by bit: a zero has a sign. */
function* sameRows(a: Float32Array, b: Float32Array, dimension: number): Generator<number> {
  const [x, y] = [a, b].map(({ buffer }) => new Uint32Array(buffer));
  for (let row = 0; row < a.length / dimension; row++) {
    const end = (row + 1) * dimension;
    let at = row * dimension;
    while (at < end && x[at] === y[at]) at++;
    if (at === end) yield row;
  }
}

export function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
