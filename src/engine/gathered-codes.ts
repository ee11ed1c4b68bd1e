/** The codes of all rows that a filter accepts, copied side by side, so that one kernel call compares a query with all of them. */

import { kernels } from "./kernels/kernels.js";
import { gatheredCodesLayout } from "./kernels/kernels.wasm.js";
import { allocate, free, wordsAt, writeWords } from "./kernels/memory.js";
import type { ListBlockTable } from "./list-block-table.js";

/** Rows by list. */
export interface RowsByList {
  /** For each list the position of its first row, then the number of rows. */
  readonly firsts: Uint32Array;
  /** Per row the number of its block in the list block table, and its row there. */
  readonly rows: Uint32Array;
}

/** Bytes of the codes of n rows, whose rotation has so many components. */
export function gatheredBytes(n: number, nLists: number, rotated: number): number {
  const rows = Math.ceil(n / 32) * 32;
  return gatheredCodesLayout.bytes + 4 * (nLists + 1) + 8 * n + rows * (12 + rotated / 8);
}

/** Holds kernel memory: call `free` when done. */
export class GatheredCodes {
  /** The address of the struct that kernels take. */
  readonly address: number;
  readonly n: number;
  /** Kernel memory held, in bytes. */
  readonly bytes: number;

  private constructor({ firsts, rows }: RowsByList, rotated: number) {
    this.n = rows.length / 2;
    this.bytes = gatheredBytes(this.n, firsts.length - 1, rotated);
    this.address = allocate(this.bytes);
    const firstsAt = this.address + gatheredCodesLayout.bytes;
    const rowsAt = firstsAt + 4 * firsts.length;
    const factors = rowsAt + 4 * rows.length;
    wordsAt(firstsAt, firsts.length).set(firsts);
    wordsAt(rowsAt, rows.length).set(rows);
    writeWords(this.address, gatheredCodesLayout, {
      n: this.n,
      firsts: firstsAt,
      rows: rowsAt,
      factors,
      codes: factors + 12 * Math.ceil(this.n / 32) * 32,
    });
  }

  /** Undefined if a block is not in memory, or has no codes that rule rows out. `rotated`: see `Rotation`. */
  static gather(table: ListBlockTable, rows: RowsByList, rotated: number): GatheredCodes | undefined {
    const gathered = new GatheredCodes(rows, rotated);
    if (kernels().gatherCodes(table.address, gathered.address, rotated / 4) === 1) return gathered;
    gathered.free();
    return undefined;
  }

  free(): void {
    free(this.address);
  }
}
