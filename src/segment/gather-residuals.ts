/** Which rows keep their residuals while a segment is written. */

import { referenceAt } from "../engine/code-layout.js";
import { isInShare, keptShare } from "./kept-residuals.js";
import type { Encoding, RowSource } from "./row-source.js";

/** A code block as it is written: of the rows at `positions` of a source, which are those from `firstRow` on in the segment. */
export interface WrittenBlock {
  readonly firstRow: number;
  readonly positions: Uint32Array;
  /** Layout (rows, 4) words. */
  readonly fingerprints: Uint32Array;
  readonly codes: Uint8Array;
}

/** Adds to `residuals` those that rows of a block keep: none unless rows are codes without vectors. */
export function gatherResiduals(
  residuals: Map<number, Float32Array>,
  { firstRow, positions, fingerprints, codes }: WrittenBlock,
  source: RowSource,
  encoding: Encoding,
): void {
  if (encoding.codec.kind !== "codes") return;
  const share = keptShare(encoding.codec);
  positions.forEach((position, i) => {
    if (!isInShare(fingerprints[4 * i], share)) return;
    const residual = source.residualOf(position, referenceAt(codes, 4 * i), encoding);
    if (residual !== undefined) residuals.set(firstRow + i, residual);
  });
}
