/**
 * The residuals that some rows without vectors keep: a later training needs queries like real ones, which codes do not tell. They are a part of the
 * row's segment, in blocks that rewrites and trainings read and queries do not. Whether a row keeps its residual follows from its fingerprint, which is
 * independent of what the row holds, so those that are kept are a random sample of the live rows at any time. FORMAT.md §4.
 */

import type { RowCodec } from "../engine/codec.js";
import { decodeScalars, encodeScalars, type ScalarShape } from "../engine/scalar.js";
import type { Work } from "../engine/work.js";
import { SealdexError } from "../errors.js";

/** Residuals, by the number of their row. Layout (dimension): the row in list space minus the reference centroid of its code. */
export type Residuals = ReadonlyMap<number, Float32Array>;

export const noResiduals: Residuals = new Map();

/** How many rows keep theirs when codes get their meaning, on average: a training that takes these as queries measures well enough. */
const keptMax = 1000;
/** What residuals may add to the stored bytes of rows. */
const bytesShareMax = 0.045;
/** What is stored of a row besides its code, at the least: its fingerprint in three places, its id in two. */
const rowBytesBesides = 80;
const residualsBytesMax = 256 * 1024;

/** The share of rows that keep their residuals. It never grows as long as codes keep their meaning. */
export function keptShare({ rowBytes, model: { dimension, quantizer } }: RowCodec): number {
  const affordable = (bytesShareMax * (rowBytes + rowBytesBesides)) / entryBytes(dimension);
  return Math.min(keptMax / quantizer.rows, affordable);
}

/** Whether a row is in this share of the rows, by the first word of its fingerprint. */
export function isInShare(fingerprintWord: number, share: number): boolean {
  return fingerprintWord < share * 2 ** 32;
}

/** Row number, scale and a byte per component. */
function entryBytes(dimension: number): number {
  return 8 + dimension;
}

function shapeOf(dimension: number): ScalarShape {
  return { precision: "int8", dimension };
}

/** Blocks of residuals, whose row numbers ascend. They are rounded, once: those that were rounded before keep their bits. */
export function* encodeResiduals(residuals: Residuals, dimension: number): Work<Uint8Array[]> {
  const blocks: Uint8Array[] = [];
  const rows = [...residuals.keys()];
  const together = Math.max(1, Math.floor(residualsBytesMax / entryBytes(dimension)));
  for (let first = 0; first < rows.length; first += together) {
    const own = Uint32Array.from(rows.slice(first, first + together));
    const values = new Float32Array(own.length * dimension);
    own.forEach((row, i) => values.set(residuals.get(row) as Float32Array, i * dimension));
    blocks.push(Buffer.concat([new Uint8Array(own.buffer), encodeScalars(values, shapeOf(dimension))]));
    yield;
  }
  return blocks;
}

/** The residuals of a segment of so many rows. `blocks` are authenticated; throws `corrupt` if they are not such blocks. */
export function decodeResiduals(blocks: readonly Uint8Array[], dimension: number, rows: number): Residuals {
  const residuals = new Map<number, Float32Array>();
  let next = 0;
  for (const block of blocks) {
    const n = block.length / entryBytes(dimension);
    if (!Number.isInteger(n)) throw misfit();
    const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
    const values = decodeScalars(block.subarray(4 * n), n, shapeOf(dimension));
    for (let i = 0; i < n; i++) {
      const row = view.getUint32(4 * i, true);
      if (row < next || row >= rows) throw misfit();
      next = row + 1;
      residuals.set(row, values.subarray(i * dimension, (i + 1) * dimension));
    }
  }
  return residuals;
}

function misfit(): SealdexError {
  return new SealdexError("corrupt", "kept residuals: they do not fit the rows of their segment");
}
