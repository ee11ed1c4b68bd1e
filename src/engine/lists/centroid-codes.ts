/**
 * Centroids with RaBitQ codes, relative to their mean. By codes a vector is compared with many centroids in a quarter of the time, and
 * finds the same one but for one vector in thousands, which finds one that is hardly farther (see kernels/assembly/assign-coded.ts).
 */

import { kernels } from "../kernels/kernels.js";
import { codedCentroidsLayout } from "../kernels/kernels.wasm.js";
import { allocate, floatsAt, free, wordsAt, writeWords } from "../kernels/memory.js";
import { rabitqBytes } from "../codes/rabitq.js";
import { Rotation } from "../rotation.js";
import { lengthsOf, noList } from "../rows.js";
import { inSlices, rowsOfPiece, rowsOfSlice, type Work } from "../work.js";

/** Codes of fewer centroids, or of fewer multiply-adds per vector, save less time than the rotation of the vector takes. */
const codedFrom = { centroids: 256, multiplyAdds: 2 ** 16 };
/** Multiply-adds that take as long as comparing a vector with a component of a centroid by codes. */
const costByCode = 1 / 4;
/** Calls that run at once, each with memory of its own. */
const callsTogether = 32;
/** Of the rotation of centroids that are used once. */
const rotationSeed = 0xc0de;

/** Whether codes save time when vectors are assigned to n centroids. */
export function assignsByCodes(n: number, dimension: number): boolean {
  return n >= codedFrom.centroids && n * dimension >= codedFrom.multiplyAdds;
}

/** The points that vectors are compared with, one per list: layout (n, dimension) at `at`. */
export interface ListCentroids {
  readonly at: number;
  readonly n: number;
  readonly dimension: number;
}

/** Addresses in kernel memory, but for the rotation. */
export interface CentroidCodes {
  readonly centroids: ListCentroids;
  /** float32 |c|^2 / 2 of each. */
  readonly halfNorms: number;
  readonly rotation: Rotation;
  /** Room for a vector. */
  readonly mean: number;
  /** Room for codes as in rabitq.ts. */
  readonly factors: number;
}

/** Computes the codes of the centroids, and their mean. `rotated` is the address of the rotated centroids, float32. */
export function* encodeCentroids(
  { centroids, rotation, mean, factors }: CentroidCodes,
  rotated: number,
): Work<void> {
  const { at, n, dimension } = centroids;
  const d = rotation.rotated;
  const sums = allocate(8 * dimension + 8 * n + 16 + 4 * d);
  const lists = sums + 8 * dimension;
  const before = lists + 4 * n;
  const size = before + 4 * n;
  const rotatedMean = Math.ceil((size + 4) / 16) * 16;
  try {
    wordsAt(sums, 2 * dimension + n).fill(0);
    wordsAt(before, n).fill(noList);
    wordsAt(size, 1)[0] = n;
    yield [
      {
        kernel: "moveRows",
        args: [at, n, dimension, before, lists, 0, dimension, sums],
        cost: n * dimension,
      },
    ];
    yield [{ kernel: "meanRows", args: [sums, size, 1, dimension, mean], cost: dimension }];
    rotation.apply(floatsAt(mean, dimension).slice(), rotatedMean);
    const codes = codesAfter(factors, n);
    yield [{ kernel: "encodeRabitq", args: [rotated, n, d, rotatedMean, codes, factors], cost: 4 * n * d }];
  } finally {
    free(sums);
  }
}

/**
 * Writes the number of the nearest centroid of each of n vectors in kernel memory to `lists`, as uint32. The centroids are encoded, and
 * their norms fit float32.
 */
export function* assignByCodes(codes: CentroidCodes, vectors: number, n: number, lists: number): Work<void> {
  const { centroids, halfNorms, rotation, mean, factors } = codes;
  const { at, n: k, dimension } = centroids;
  const { rotated, signs, span } = rotation;
  const structBytes = Math.ceil(codedCentroidsLayout.bytes / 16) * 16;
  const scratchBytes = 64 + 8 * rotated + 8 * Math.ceil(k / 32) * 32;
  const coded = allocate(structBytes + callsTogether * scratchBytes);
  const scratch = coded + structBytes;
  try {
    writeWords(coded, codedCentroidsLayout, {
      centroids: at,
      k,
      dimension,
      halfNorms,
      mean,
      factors,
      codes: codesAfter(factors, k),
      rotated,
      signs,
      span,
    });
    const rowCost = costByCode * k * dimension;
    const rowsPerCall = rowsOfSlice(rowCost);
    const rowsTogether = callsTogether * rowsPerCall;
    for (let start = 0; start < n; start += rowsTogether) {
      yield inSlices(Math.min(rowsTogether, n - start), rowCost, (first, count) => ({
        kernel: "assignCoded",
        args: [
          vectors + 4 * (start + first) * dimension,
          count,
          coded,
          lists + 4 * (start + first),
          scratch + (first / rowsPerCall) * scratchBytes,
        ],
      }));
    }
  } finally {
    free(coded);
  }
}

/**
 * The same for centroids that have no codes yet, and one use of them. Returns false, having written nothing, if their norms do not fit
 * float32.
 */
export function* assignOnce(
  centroids: ListCentroids,
  halfNorms: number,
  vectors: number,
  n: number,
  lists: number,
): Work<boolean> {
  const { at, n: k, dimension } = centroids;
  const rotation = new Rotation(dimension, rotationSeed);
  const { rotated: d, signs, span } = rotation;
  const norms = allocate(8 * k + 4 * k * d + 4 * dimension + rabitqBytes(k, dimension));
  const rotated = norms + 8 * k;
  const factors = rotated + 4 * k * d;
  const mean = factors + rabitqBytes(k, dimension);
  try {
    yield lengthsOf(at, k, dimension, norms);
    if (kernels().fitsFloat32(norms, k) === 0) return false;
    const padded = rowsOfPiece(4 * d);
    for (let first = 0; first < k; first += padded) {
      const count = Math.min(padded, k - first);
      rotation.pad(floatsAt(at + 4 * first * dimension, count * dimension), rotated + 4 * first * d);
      yield;
    }
    yield inSlices(k, 64 * d, (first, count) => ({
      kernel: "rotate",
      args: [rotated + 4 * first * d, count, d, signs, span],
    }));
    const codes = { centroids, halfNorms, rotation, mean, factors };
    yield* encodeCentroids(codes, rotated);
    yield* assignByCodes(codes, vectors, n, lists);
    return true;
  } finally {
    free(norms);
    rotation.free();
  }
}

/** The address of the codes of n rows whose factors are at `factors`. */
function codesAfter(factors: number, n: number): number {
  return factors + 12 * Math.ceil(n / 32) * 32;
}
