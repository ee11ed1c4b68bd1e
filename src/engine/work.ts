/** Long work in pieces. */

import type { KernelCall } from "./kernels/kernels.js";

/**
 * Work that yields the kernel calls it needs before it continues. Calls of one yield write to disjoint memory: the
 * driver makes them in any order, or in parallel on several threads, and the result is the same. A yield of nothing is a pause, in
 * which other work may run. Each call, and the code between two yields, takes a few milliseconds.
 */
export type Work<T> = Generator<readonly KernelCall[] | void, T, void>;

/**
 * Bytes that are copied, gathered or sealed in one piece of work. Memory that is touched for the first time takes up to 3 ms per
 * MiB, several times as long as the copy itself.
 */
export const pieceBytes = 2 ** 20;

/** Multiply-adds of one call. */
const callCost = 2 ** 24;

/** Rows that are worked on together on this thread, of this many bytes and multiply-adds each. */
export function rowsOfPiece(rowBytes: number, rowCost = 0): number {
  return Math.max(1, Math.floor(Math.min(pieceBytes / rowBytes, callCost / rowCost)));
}

/** Rows of one of the calls that `inSlices` makes. */
export function rowsOfSlice(rowCost: number): number {
  return Math.max(1, Math.floor(callCost / rowCost));
}

/** The calls that `make` returns for parts of `n` rows; a row costs `rowCost` multiply-adds. */
export function inSlices(
  n: number,
  rowCost: number,
  make: (first: number, rows: number) => KernelCall,
): KernelCall[] {
  const rows = rowsOfSlice(rowCost);
  const count = Math.ceil(n / rows);
  return Array.from({ length: count }, (_, i) => {
    const part = Math.min(rows, n - i * rows);
    return { cost: part * rowCost, ...make(i * rows, part) };
  });
}

/** Copies `from` to `to`, of the same length, in pieces. */
export function* copyInPieces(from: Float32Array, to: Float32Array): Work<void> {
  const piece = pieceBytes / 4;
  for (let at = 0; at < from.length; at += piece) {
    to.set(from.subarray(at, at + piece), at);
    yield;
  }
}

/** Runs several works in parallel: each step yields the calls that all of them need. */
export function* together<T>(works: readonly Work<T>[]): Work<T[]> {
  const results: T[] = Array.from({ length: works.length });
  try {
    for (let open = Array.from(works.keys()); ;) {
      const calls: KernelCall[] = [];
      open = open.filter((i) => {
        const step = works[i].next();
        if (step.done) results[i] = step.value;
        else calls.push(...(step.value ?? []));
        return !step.done;
      });
      if (open.length === 0) return results;
      yield calls;
    }
  } finally {
    for (const work of works) work.return(undefined as T);
  }
}
