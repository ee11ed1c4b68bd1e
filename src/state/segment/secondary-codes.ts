/**
 * Codes of a segment's rows in their second lists (see engine/second-lists.ts): by which a warm search finds rows there. Stored are the
 * second lists alone; the codes are computed in memory, of the vectors in the blocks of the first lists.
 */

import type { CoarseQuantizer } from "../../engine/lists/coarse-quantizer.js";
import type { Metric } from "../../engine/config.js";
import { spilledGroupLayout, spilledRowBytes } from "../../engine/kernels/kernels.wasm.js";
import { allocate, allocatedBytes, bytesAt, free, wordsAt, writeWords } from "../../engine/kernels/memory.js";
import { rabitqBytes } from "../../engine/codes/rabitq.js";
import { directionsOf } from "../../engine/rows.js";
import { inSlices, type Work } from "../../engine/work.js";
import { SealdexError } from "../../errors.js";
import type { CachedValue } from "../cache/cache-group.js";

/** A group of n rows with the same second list. */
function groupBytes(n: number, dimension: number): number {
  return spilledGroupLayout.bytes + spilledRowBytes * n + rabitqBytes(n, dimension);
}

/** About the bytes of memory that the codes of n rows take. */
export function spilledBytes(n: number, nLists: number, dimension: number): number {
  return nLists * (4 + groupBytes(Math.ceil(n / nLists), dimension));
}

/** The second lists of n rows, below the number of lists, from the plaintexts of their blocks. */
export function decodeSecondLists(plaintexts: readonly Uint8Array[], n: number, nLists: number): Uint16Array {
  const seconds = new Uint16Array(n);
  const bytes = new Uint8Array(seconds.buffer);
  let at = 0;
  for (const plaintext of plaintexts) {
    if (at + plaintext.length > bytes.length) throw misfit();
    bytes.set(plaintext, at);
    at += plaintext.length;
  }
  if (at !== bytes.length || seconds.some((list) => list >= nLists)) throw misfit();
  return seconds;
}

function misfit(): SealdexError {
  return new SealdexError("corrupt", "segment: its second lists do not have the expected structure");
}

/** The rows of a code block. */
interface SpilledRows {
  /** The block's position in its segment. */
  readonly block: number;
  /** Their second lists. */
  readonly lists: Uint16Array;
  /** Layout (rows, dimension). */
  readonly vectors: Float32Array;
}

/** All of them in kernel memory. Rows are added in their order; until all are there, no search may use them. */
export class SpilledCodes implements CachedValue {
  readonly bytes: number;
  /** Kernel memory offset of the address of each list's group, uint32; 0 for lists without rows. */
  readonly groups: number;
  /** Rows of the largest group. */
  readonly rowsMax: number;

  /** Room for rows of these second lists. */
  constructor(seconds: Uint16Array, { nLists, rotation }: CoarseQuantizer) {
    const before = allocatedBytes();
    const counts = new Uint32Array(nLists);
    for (const list of seconds) counts[list]++;
    const addressBytes = 4 * nLists;
    const length = counts.reduce((sum, n) => sum + (n > 0 ? groupBytes(n, rotation.dimension) : 0), 0);
    this.groups = allocate(addressBytes + length);
    bytesAt(this.groups, addressBytes + length).fill(0);
    let end = this.groups + addressBytes;
    counts.forEach((n, list) => {
      if (n === 0) return;
      wordsAt(this.groups, nLists)[list] = end;
      writeWords(end, spilledGroupLayout, { n, written: 0 });
      end += groupBytes(n, rotation.dimension);
    });
    this.rowsMax = counts.reduce((most, n) => Math.max(most, n), 0);
    this.bytes = allocatedBytes() - before;
  }

  /** Computes the codes of a block's rows. */
  *add({ block, lists, vectors }: SpilledRows, quantizer: CoarseQuantizer, metric: Metric): Work<void> {
    const { rotation } = quantizer;
    const { rotated, signs, span } = rotation;
    const n = lists.length;
    const at = allocate(4 * n * (rotated + 1));
    const listsAt = at + 4 * n * rotated;
    try {
      rotation.pad(vectors, at);
      wordsAt(listsAt, n).set(lists);
      if (metric === "cosine") yield directionsOf(at, n, rotated, at);
      yield inSlices(n, 64 * rotated, (first, count) => ({
        kernel: "rotate",
        args: [at + 4 * first * rotated, count, rotated, signs, span],
      }));
      yield [
        {
          kernel: "encodeSpilled",
          args: [at, n, rotated, quantizer.rotatedCentroid(0), listsAt, block, this.groups, quantizer.nLists],
          cost: 8 * n * rotated,
        },
      ];
    } finally {
      free(at);
    }
  }

  free(): void {
    free(this.groups);
  }
}
