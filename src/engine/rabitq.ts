/**
 * RaBitQ codes (Gao and Long, SIGMOD 2024): one bit a dimension, from which a squared distance is estimated within known
 * bounds. Works in list space. Stored as factors, float32 of layout (3, m), then codes, m * D / 8 bytes, where m is the
 * number of rows rounded up to 32 and D the rotated dimension.
 */

import type { CoarseQuantizer } from "./coarse-quantizer.js";
import { buildTable, scanRabitq } from "./kernels/kernels.js";
import { allocate, bytesAt, floatsAt, free } from "./kernels/memory.js";
import { rotatedDimension } from "./rotation.js";
import type { Work } from "./work.js";

/** Bytes of the codes of n rows. */
export function rabitqBytes(n: number, dimension: number): number {
  const rows = Math.ceil(n / 32) * 32;
  return rows * (12 + rotatedDimension(dimension) / 8);
}

/** Codes of rows of one list; `points` has layout (n, dimension), in list space. */
export function* encodeList(
  points: Float32Array,
  quantizer: CoarseQuantizer,
  list: number,
): Work<Uint8Array> {
  const { rotation } = quantizer;
  const { rotated, signs, span } = rotation;
  const n = points.length / rotation.dimension;
  const factorBytes = 12 * Math.ceil(n / 32) * 32;
  const bytes = rabitqBytes(n, rotation.dimension);
  const at = allocate(4 * n * rotated + bytes);
  const out = at + 4 * n * rotated;
  try {
    rotation.pad(points, at);
    const centroid = quantizer.rotatedCentroid(list);
    yield [
      { kernel: "rotateAndEncode", args: [at, n, rotated, signs, span, centroid, out + factorBytes, out] },
    ];
    return bytesAt(out, bytes).slice();
  } finally {
    free(at);
  }
}

/** Standard deviations that an estimate may be off before a row is wrongly ruled out. */
const deviations = 2.6;

/** One query, ready to be compared with lists. Holds kernel memory: call `free` when done. */
export class RabitqQuery {
  readonly #table: number;
  readonly #groups: number;
  readonly #step: number;
  readonly #shift: number;
  readonly #slack: number;

  /** `query` is in list space. */
  constructor(query: Float32Array, { rotation }: CoarseQuantizer) {
    this.#groups = rotation.rotated / 4;
    this.#table = allocate(16 * this.#groups);
    const scratch = allocate(4 * rotation.rotated + 8);
    const scale = scratch + 4 * rotation.rotated;
    rotation.apply(query, scratch);
    buildTable(scratch, this.#groups, this.#table, scale);
    [this.#step, this.#shift] = floatsAt(scale, 2);
    // Each entry is rounded by at most half a step, evenly: three deviations of their sum.
    this.#slack = 3 * this.#step * Math.sqrt(this.#groups / 12);
    free(scratch);
  }

  /**
   * Selects rows of one list whose squared distance may be at most `threshold`. `codes` is where the list's codes lie;
   * `scratch` has room for 12 bytes for each row, rounded up to 32 rows: sums, estimates, rows. Returns how many.
   */
  select(codes: number, n: number, centroidDistance: number, threshold: number, scratch: number): number {
    const m = Math.ceil(n / 32) * 32;
    return scanRabitq(
      codes + 12 * m,
      codes,
      n,
      this.#groups,
      this.#table,
      centroidDistance * centroidDistance,
      this.#step,
      this.#shift,
      this.#slack,
      deviations * centroidDistance,
      threshold,
      scratch,
      scratch + 4 * m,
      scratch + 8 * m,
    );
  }

  free(): void {
    free(this.#table);
  }
}
