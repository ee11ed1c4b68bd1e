/** Sorts texts, a piece of work at a time. */

import type { Work } from "../engine/work.js";

/** Texts sorted, or merged, in one piece of work. */
const together = 4096;

type Compare = (a: string, b: string) => number;

/** `compare`: as that of `Array.sort`. Default: string comparison. */
export function* sortedTexts(texts: readonly string[], compare?: Compare): Work<string[]> {
  let runs: string[][] = [];
  for (let start = 0; start < texts.length; start += together) {
    runs.push(texts.slice(start, start + together).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      merged.push(i + 1 < runs.length ? yield* merge(runs[i], runs[i + 1], compare) : runs[i]);
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge(a: readonly string[], b: readonly string[], compare: Compare | undefined): Work<string[]> {
  const merged: string[] = [];
  const isFirst = (x: string, y: string) => (compare === undefined ? x < y : compare(x, y) < 0);
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    merged.push(j === b.length || (i < a.length && isFirst(a[i], b[j])) ? a[i++] : b[j++]);
    if (merged.length % together === 0) yield;
  }
  return merged;
}
