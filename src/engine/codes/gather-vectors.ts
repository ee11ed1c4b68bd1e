/** The vectors of some rows of open blocks. */

import type { Codec, LoadedCodes } from "./codec.js";

export interface ChosenRows {
  readonly codes: LoadedCodes;
  /** Positions in the block. */
  readonly rows: readonly number[];
}

/**
 * The vector of each row, in the order of blocks and rows, as the codec that loaded the blocks decodes it; each is an array of its own. Codes of
 * all blocks are decoded in one call, since opening the blocks takes longer than decoding a row.
 */
export function gatherVectors(codec: Codec, chosen: readonly ChosenRows[]): Float32Array[] {
  const vectors: Float32Array[] = [];
  if (codec.kind === "codes") {
    const rowCodes = gatherCodes(chosen);
    addRows(vectors, codec.decodeRows(rowCodes), rowCodes.length / codec.rowBytes);
  } else {
    for (const { codes, rows } of chosen) addRows(vectors, codes.gather(rows), rows.length);
  }
  return vectors;
}

function gatherCodes(chosen: readonly ChosenRows[]): Uint8Array {
  const parts = chosen.flatMap(({ codes, rows }) =>
    codes.kind === "codes" ? [codes.gatherCodes(rows)] : [],
  );
  const rowCodes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    rowCodes.set(part, at);
    at += part.length;
  }
  return rowCodes;
}

/** `gathered` has layout (n, dimension). */
function addRows(vectors: Float32Array[], gathered: Float32Array, n: number): void {
  const dimension = gathered.length / n;
  for (let row = 0; row < n; row++) vectors.push(gathered.slice(row * dimension, (row + 1) * dimension));
}
