/**
 * Codes of an `ivfflat` whose precision is below float32: each vector is float16 or int8 numbers times a scale of its own (see
 * assembly/scalar.ts). If rows are grouped by a model's lists, RaBitQ codes follow, by which most rows are pruned.
 *
 * Vectors are rounded once, when they enter the index; from then on they move bit for bit, and all that is computed of them is
 * computed of what they decode to.
 */

import { writeBlockStruct } from "./block-struct.js";
import { bytesOf, type CodePiece, consecutive, copyPieces, rowsIn, type Sections } from "./code-pieces.js";
import type { LoadedScalarCodes, PruningCodes, ScalarCodec } from "./codec.js";
import type { Metric, ScalarPrecision } from "./config.js";
import { kernels } from "./kernels/kernels.js";
import { blockLayout } from "./kernels/kernels.wasm.js";
import { allocate, bytesAt, floatsAt, free } from "./kernels/memory.js";
import { encodeList, rabitqBytes, rabitqSections } from "./rabitq.js";
import { rowsOfPiece } from "./work.js";

/** As the kernels number them. */
const kernelPrecision = { float16: 1, int8: 2 } as const;
const componentBytes = { float16: 2, int8: 1 } as const;
/** Kernels read up to this many bytes beyond codes. */
const slackBytes = 16;

export interface ScalarShape {
  readonly precision: ScalarPrecision;
  readonly dimension: number;
}

export function scalarCodec(
  shape: ScalarShape & { readonly metric: Metric },
  pruning: PruningCodes,
): ScalarCodec {
  const { metric, dimension } = shape;
  const rowBytes = scalarRowBytes(shape);
  const sections: Sections = (n) => [
    4 * n,
    n * (rowBytes - 4),
    ...(pruning === "none" ? [] : rabitqSections(n, dimension)),
  ];
  return {
    kind: "scalar",
    sections,
    codeBytes: (n) => bytesOf(sections, n),
    *encode(vectors, list) {
      const codes = encodeScalars(vectors, shape);
      if (typeof pruning === "string") return [codes];
      return [codes, yield* encodeList(vectors, metric, pruning, list)];
    },
    decode: (codes, n) => decodeScalars(codes, n, shape),
    load: (pieces, fingerprints) => load(pieces, sections, shape, fingerprints),
  };
}

/** Rounds vectors, layout (n, dimension), in place, to what they decode to once they are stored. */
export function roundVectors(vectors: Float32Array, precision: ScalarPrecision, dimension: number): void {
  const shape = { precision, dimension };
  vectors.set(decodeScalars(encodeScalars(vectors, shape), vectors.length / dimension, shape));
}

/** Bytes of a row: its scale and its codes. */
export function scalarRowBytes({ precision, dimension }: ScalarShape): number {
  return 4 + componentBytes[precision] * dimension;
}

/** n scales, float32, then the codes, layout (n, dimension). */
export function encodeScalars(vectors: Float32Array, shape: ScalarShape): Uint8Array {
  const { precision, dimension } = shape;
  const n = vectors.length / dimension;
  const rowBytes = scalarRowBytes(shape) - 4;
  const codes = new Uint8Array(n * (4 + rowBytes));
  for (const [first, rows] of piecesOf(n, dimension)) {
    const own = vectors.subarray(first * dimension, (first + rows) * dimension);
    const at = allocate(own.byteLength + rows * (4 + rowBytes));
    const scales = at + own.byteLength;
    floatsAt(at, own.length).set(own);
    kernels().encodeScalar(at, rows, dimension, kernelPrecision[precision], scales + 4 * rows, scales);
    codes.set(bytesAt(scales, 4 * rows), 4 * first);
    codes.set(bytesAt(scales + 4 * rows, rows * rowBytes), 4 * n + first * rowBytes);
    free(at);
  }
  return codes;
}

/** What `encodeScalars` encoded: n vectors. */
export function decodeScalars(codes: Uint8Array, n: number, shape: ScalarShape): Float32Array {
  const { dimension } = shape;
  const rowBytes = scalarRowBytes(shape) - 4;
  const vectors = new Float32Array(n * dimension);
  for (const [first, rows] of piecesOf(n, dimension)) {
    const at = allocate(rows * (4 + rowBytes) + slackBytes);
    bytesAt(at, 4 * rows).set(codes.subarray(4 * first, 4 * (first + rows)));
    const own = codes.subarray(4 * n + first * rowBytes, 4 * n + (first + rows) * rowBytes);
    bytesAt(at + 4 * rows, own.length).set(own);
    vectors.set(decodeAt(at + 4 * rows, at, rows, shape), first * dimension);
    free(at);
  }
  return vectors;
}

/** The first row and the number of rows of each piece of n rows. */
function* piecesOf(n: number, dimension: number): Generator<readonly [number, number]> {
  const rows = rowsOfPiece(4 * dimension);
  for (let first = 0; first < n; first += rows) yield [first, Math.min(rows, n - first)];
}

/** The vectors of n rows whose codes and scales are at these addresses. */
function decodeAt(
  codes: number,
  scales: number,
  n: number,
  { precision, dimension }: ScalarShape,
): Float32Array {
  const at = allocate(4 * n * dimension);
  kernels().decodeScalar(codes, scales, n, dimension, kernelPrecision[precision], at);
  const vectors = floatsAt(at, n * dimension).slice();
  free(at);
  return vectors;
}

function load(
  pieces: readonly CodePiece[],
  sections: Sections,
  shape: ScalarShape,
  fingerprints: number,
): LoadedScalarCodes {
  const { precision, dimension } = shape;
  const n = rowsIn(pieces);
  const rowBytes = componentBytes[precision] * dimension;
  const [, , ...rabitq] = sections(n);
  const rabitqLength = rabitq.length === 0 ? 0 : rabitqBytes(n, dimension);
  const vectorBytes = Math.ceil((n * rowBytes + slackBytes) / 8) * 8;
  const bytes = vectorBytes + 8 * n + blockLayout.bytes + rabitqLength + 4 * n;
  const vectors = allocate(bytes);
  const norms = vectors + vectorBytes;
  const block = norms + 8 * n;
  const factors = block + blockLayout.bytes;
  const scales = factors + rabitqLength;
  copyPieces(pieces, sections, [scales, vectors, ...consecutive(factors, rabitq)]);
  const decoded = allocate(4 * n * dimension);
  kernels().decodeScalar(vectors, scales, n, dimension, kernelPrecision[precision], decoded);
  kernels().normsFloat64(decoded, n, dimension, norms);
  free(decoded);
  writeBlockStruct(block, {
    n,
    fingerprints,
    vectors,
    norms,
    fitsFloat32: kernels().fitsFloat32(norms, n),
    ...(rabitqLength > 0 && { factors, codes: factors + 12 * Math.ceil(n / 32) * 32 }),
    precision: kernelPrecision[precision],
    scales,
  });
  return {
    kind: "scalar",
    n,
    bytes,
    address: block,
    gather(rows) {
      const gathered = new Float32Array(rows.length * dimension);
      rows.forEach((row, i) =>
        gathered.set(decodeAt(vectors + row * rowBytes, scales + 4 * row, 1, shape), i * dimension),
      );
      return gathered;
    },
    free: () => free(vectors),
  };
}
