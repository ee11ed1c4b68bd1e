/** Sorts a piece of work at a time. */

import type { Work } from "../engine/work.js";

/** Values sorted, or merged, in one piece of work. */
const valuesTogether = 4096;

/** `compare`: as that of `Array.sort`. */
export function* sortedInPieces<T>(values: readonly T[], compare: (a: T, b: T) => number): Work<T[]> {
  let runs: T[][] = [];
  for (let start = 0; start < values.length; start += valuesTogether) {
    runs.push(values.slice(start, start + valuesTogether).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      merged.push(i + 1 < runs.length ? yield* merge(runs[i], runs[i + 1], compare) : runs[i]);
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge<T>(a: readonly T[], b: readonly T[], compare: (a: T, b: T) => number): Work<T[]> {
  const merged: T[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    merged.push(j === b.length || (i < a.length && compare(a[i], b[j]) < 0) ? a[i++] : b[j++]);
    if (merged.length % valuesTogether === 0) yield;
  }
  return merged;
}
