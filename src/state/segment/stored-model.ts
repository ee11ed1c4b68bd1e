/** Models as bytes. docs/internals/format.md §6. */

import { keepsCodesOnly } from "../../engine/codes/coded.js";
import { decodeScalars, encodeScalars, roundVectors, scalarRowBytes } from "../../engine/codes/scalar.js";
import { dimensionMax, type IndexConfig } from "../../engine/config.js";
import { listCount, type Model, type QuantizerModel } from "../../engine/model.js";
import { areCurves, stepLength } from "../../engine/recall-curves.js";
import { countPerList, gather, sortByList } from "../../engine/rows.js";
import { rowsOfPiece, type Work } from "../../engine/work.js";
import { SealdexError } from "../../errors.js";

/**
 * The part behind the centroids: nothing, a quantizer whose reference centroids are the centroids, one with reference centroids of its own, or
 * the recall curves of rows in two lists.
 */
const kinds = { plain: 1, coded: 2, regrouped: 3, spilled: 4 } as const;
const headWords = 7;
const quantizerWords = 3;

/** Yields between pieces of work of a few milliseconds. */
export function* encodeModel(model: Model): Work<Uint8Array> {
  const { dimension, spreads, curves, spilledCurves, probeLimits, rotationSeed, centroids, quantizer } =
    model;
  const ownReferences = quantizer !== undefined && quantizer.references !== centroids;
  const unquantized = spilledCurves === undefined ? kinds.plain : kinds.spilled;
  const kind = quantizer === undefined ? unquantized : ownReferences ? kinds.regrouped : kinds.coded;
  const { depths, values } = curves;
  const counts = [probeLimits.length, depths.length, values.length];
  const head = words(kind, dimension, listCount(model), ...counts, rotationSeed);
  const parts = [
    head,
    ...[probeLimits, depths, values, spreads].map(bytesOf),
    ...(yield* encodeStoredCentroids(centroids, dimension)),
  ];
  if (kind === kinds.spilled && spilledCurves !== undefined) parts.push(bytesOf(spilledCurves.values));
  if (quantizer !== undefined) {
    const { rotationSeed: quantizerSeed, origin, references, codebooks } = quantizer;
    const lengths = [references.length / dimension, (codebooks?.codewords.length ?? 0) / dimension];
    parts.push(words(quantizerSeed, ...lengths), bytesOf(origin));
    if (ownReferences) parts.push(...(yield* encodeStoredCentroids(references, dimension)));
    if (codebooks !== undefined) parts.push(bytesOf(codebooks.order), bytesOf(codebooks.codewords));
  }
  return Buffer.concat(parts);
}

/**
 * `bytes` are authenticated; yet whatever they hold, this gives a model that an index of this configuration can have, or throws `corrupt`. A kind that is
 * not known was written by a newer version.
 */
export function decodeModel(bytes: Uint8Array, config: IndexConfig): Model {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const take = (length: number) => {
    expect(length <= bytes.length - at, "its bytes", "longer, by its counts");
    at += length;
    return bytes.subarray(at - length, at);
  };
  const word = () => {
    take(4);
    return view.getUint32(at - 4, true);
  };
  const floats = (length: number) => new Float32Array(new Uint8Array(take(4 * length)).buffer);
  const [kind, dimension, lists, limits, depths, values, rotationSeed] = Array.from(
    { length: headWords },
    word,
  );
  if (kind < kinds.plain || kind > kinds.spilled) {
    throw new SealdexError(
      "not_supported",
      `stored model: its kind is ${kind}, which this version cannot read`,
    );
  }
  const isCoded = kind === kinds.coded || kind === kinds.regrouped;
  expect(isCoded === keepsCodesOnly(config), "its kind", `that of ${config.type}`);
  expect(dimension >= 1 && dimension <= dimensionMax, "its dimension", `1 to ${dimensionMax}`);
  expect(lists >= 1, "its lists", "1 or more");
  expect(depths >= 1 && values === stepLength * depths, "its recall curves", "the values of their depths");
  const probeLimits = floats(limits);
  expect(probeLimits.every(isRatio), "its probe limits", "0 or more");
  const readCurves = (curveDepths: Float32Array) => {
    const curves = { depths: curveDepths, values: floats(values) };
    expect(areCurves(curves, lists), "its recall curves", "ascending depths and limits of so many lists");
    return curves;
  };
  const curves = readCurves(floats(depths));
  const spreads = floats(lists);
  expect(spreads.every(isRatio), "its spreads", "0 or more");
  const readPoints = (n: number) => finite(decodeCentroids(take, n, dimension));
  const centroids = readPoints(lists);
  const model = { dimension, centroids, spreads, curves, probeLimits, rotationSeed };
  const whole = <M extends Model>(read: M) => {
    expect(at === bytes.length, "its bytes", "shorter, by its counts");
    return read;
  };
  if (kind === kinds.plain) return whole(model);
  if (kind === kinds.spilled) return whole({ ...model, spilledCurves: readCurves(curves.depths) });
  const [quantizerSeed, referenceCount, k] = Array.from({ length: quantizerWords }, word);
  expect(referenceCount >= 1, "its reference centroids", "1 or more");
  const origin = finite(floats(dimension));
  const references = kind === kinds.regrouped ? readPoints(referenceCount) : centroids;
  expect(references.length === referenceCount * dimension, "its reference centroids", "its lists");
  const quantizer: QuantizerModel = { rotationSeed: quantizerSeed, origin, references };
  const { pqDim = 1, pqBits = 0 } = config;
  if (config.type !== "ivfpq") {
    expect(k === 0, "its codewords", "none");
    return whole({ ...model, quantizer });
  }
  expect(k >= 1 && k <= 2 ** pqBits, "its codewords", `1 to ${2 ** pqBits} in each of its codebooks`);
  expect(dimension % pqDim === 0, "its dimension", `a multiple of ${pqDim}`);
  const order = Uint32Array.from({ length: dimension }, word);
  expect(isPermutation(order), "the order of its components", "a permutation");
  return whole({
    ...model,
    quantizer: { ...quantizer, codebooks: { order, codewords: finite(floats(k * dimension)) } },
  });
}

function expect(isSo: boolean, what: string, expected: string): void {
  if (!isSo) throw new SealdexError("corrupt", `stored model: expected ${what} to be ${expected}`);
}

/** Infinity is one, NaN is none. */
function isRatio(value: number): boolean {
  return value >= 0;
}

function finite(values: Float32Array): Float32Array {
  // Without a call per number: there are millions.
  for (let i = 0; i < values.length; i++) {
    if (values[i] - values[i] !== 0) expect(false, "its points", "finite");
  }
  return values;
}

function isPermutation(order: Uint32Array): boolean {
  return order
    .slice()
    .sort()
    .every((component, i) => component === i);
}

function words(...values: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeUInt32LE(value, 4 * i));
  return bytes;
}

// Centroids as bytes: each in the lowest precision that holds it exactly (round-centroids.ts). docs/internals/format.md §6.

/** As they are numbered; the first stands for float32. */
const precisions = [undefined, "float16", "int8"] as const;

/** The number of each centroid's precision, then those of each precision. `centroids`: layout (n, dimension). */
export function* encodeStoredCentroids(centroids: Float32Array, dimension: number): Work<Uint8Array[]> {
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
  const sizes = countPerList(numbers, precisions.length);
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

/** Decodes n centroids of `encodeCentroids`. `take(n)` returns the next n bytes, or throws. */
function decodeCentroids(take: (length: number) => Uint8Array, n: number, dimension: number): Float32Array {
  const numbers = Uint32Array.from(take(n));
  if (numbers.some((number) => number >= precisions.length)) {
    throw new SealdexError("corrupt", "stored model: a centroid has a precision that there is not");
  }
  const sizes = countPerList(numbers, precisions.length);
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

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
