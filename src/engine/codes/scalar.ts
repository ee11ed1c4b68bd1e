/**
 * Codes of an `ivfflat` whose precision is below float32: each vector is float16 or int8 numbers times a scale of its own (see
 * assembly/scalar.ts). If rows are grouped by a model's lists, RaBitQ codes follow, by which most rows are pruned.
 *
 * Vectors are rounded once, when they enter the index; from then on they move bit for bit, and all that is computed of them is
 * computed from the decoded rows.
 */

import { writeBlockStruct } from "./block-struct.js";
import { bytesOf, checkLength, copySections, type RowCodes, type Sections } from "./code-sections.js";
import type { LoadedScalarCodes, PruningCodes, ScalarCodec } from "./codec.js";
import type { Metric, ScalarPrecision } from "../config.js";
import { kernels } from "../kernels/kernels.js";
import { blockLayout } from "../kernels/kernels.wasm.js";
import { allocate, bytesAt, floatsAt, free } from "../kernels/memory.js";
import { encodeList, rabitqAddresses, rabitqBytes, rabitqSections, unpackRabitq } from "./rabitq.js";
import { rowsOfPiece } from "../work.js";

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
    codeBytes: (n) => bytesOf(sections, n),
    check: (rows) => checkLength(rows, sections),
    *encode(vectors, list) {
      const codes = encodeScalars(vectors, shape);
      if (typeof pruning === "string") return [codes];
      return [codes, yield* encodeList(vectors, metric, pruning, list)];
    },
    decode: (codes, n) => decodeScalars(codes, n, shape),
    load: (rows, fingerprints) => load(rows, sections, shape, fingerprints),
  };
}

/** Rounds vectors, layout (n, dimension), in place, to the values that they decode to once they are stored. */
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
  const bytes = n * scalarRowBytes(shape);
  const at = allocate(vectors.byteLength + bytes);
  const scales = at + vectors.byteLength;
  floatsAt(at, vectors.length).set(vectors);
  kernels().encodeScalar(at, n, dimension, kernelPrecision[precision], scales + 4 * n, scales);
  const codes = bytesAt(scales, bytes).slice();
  free(at);
  return codes;
}

/** Decodes n vectors of `encodeScalars`. */
export function decodeScalars(codes: Uint8Array, n: number, shape: ScalarShape): Float32Array {
  const { dimension } = shape;
  const rowBytes = scalarRowBytes(shape) - 4;
  const vectors = new Float32Array(n * dimension);
  const together = rowsOfPiece(4 * dimension);
  for (let first = 0; first < n; first += together) {
    const rows = Math.min(together, n - first);
    const own = codes.subarray(4 * n + first * rowBytes, 4 * n + (first + rows) * rowBytes);
    const scales = allocate(4 * rows + own.length + slackBytes);
    bytesAt(scales, 4 * rows).set(codes.subarray(4 * first, 4 * (first + rows)));
    bytesAt(scales + 4 * rows, own.length).set(own);
    vectors.set(decodeAt(scales + 4 * rows, scales, rows, shape), first * dimension);
    free(scales);
  }
  return vectors;
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
  rowCodes: RowCodes,
  sections: Sections,
  shape: ScalarShape,
  fingerprints: number,
): LoadedScalarCodes {
  const { precision, dimension } = shape;
  const { n } = rowCodes;
  const rowBytes = componentBytes[precision] * dimension;
  const isPruned = sections(n).length > 2;
  const rabitqLength = isPruned ? rabitqBytes(n, dimension) : 0;
  const vectorBytes = Math.ceil((n * rowBytes + slackBytes) / 8) * 8;
  const bytes = vectorBytes + 8 * n + blockLayout.bytes + rabitqLength + 4 * n;
  const vectors = allocate(bytes);
  const norms = vectors + vectorBytes;
  const block = norms + 8 * n;
  const factors = block + blockLayout.bytes;
  const scales = factors + rabitqLength;
  copySections(rowCodes, sections, [scales, vectors, ...rabitqAddresses(factors, n)]);
  if (isPruned) unpackRabitq(factors, n, dimension);
  const decoded = allocate(4 * n * dimension);
  kernels().decodeScalar(vectors, scales, n, dimension, kernelPrecision[precision], decoded);
  kernels().normsFloat64(decoded, n, dimension, norms);
  free(decoded);
  writeBlockStruct(block, {
    n,
    dimension,
    fingerprints,
    vectors,
    norms,
    fitsFloat32: kernels().fitsFloat32(norms, n),
    ...(isPruned && { factors, codes: rabitqAddresses(factors, n)[3] }),
    precision: kernelPrecision[precision],
    scales,
  });
  return {
    kind: "scalar",
    n,
    bytes,
    address: block,
    gather(rows) {
      const at = allocate(rows.length * scalarRowBytes(shape) + slackBytes);
      const codes = at + 4 * rows.length;
      const [from, to] = [floatsAt(scales, n), floatsAt(at, rows.length)];
      const [own, gathered] = [bytesAt(vectors, n * rowBytes), bytesAt(codes, rows.length * rowBytes)];
      rows.forEach((row, i) => {
        to[i] = from[row];
        gathered.set(own.subarray(row * rowBytes, (row + 1) * rowBytes), i * rowBytes);
      });
      const decodedRows = decodeAt(codes, at, rows.length, shape);
      free(at);
      return decodedRows;
    },
    free: () => free(vectors),
  };
}
