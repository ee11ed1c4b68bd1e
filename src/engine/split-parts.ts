/** Splits lists in two, those first from which squared errors fall most, and their halves again. */

import { kmeans } from "./kmeans.js";
import { gather } from "./rows.js";
import { type Sample, withRows } from "./train.js";
import type { Work } from "./work.js";

/** Rows of a sample that share a centroid. */
export interface Part {
  /** The list that all of them were in. */
  readonly list: number;
  readonly rows: Uint32Array;
  /** The sum of the squared distances from their centroid. */
  readonly error: number;
}

interface Half extends Part {
  readonly centroid: Float32Array;
}

/** A part, and what it could be split into. */
interface Divided {
  readonly part: Part | Half;
  readonly halves: readonly Half[];
  /** By how much the squared errors fall. */
  readonly gain: number;
}

/** The share of the mean error below which splitting a part is not tried. */
const triedFrom = 1;

/**
 * Splits parts, by descending gain, as long as `isWorthIt` says so, given the gain of a split and the number of those before it. Returns the
 * centroids of each list that was split.
 */
export function* splitParts(
  sample: Sample,
  parts: readonly Part[],
  random: () => number,
  isWorthIt: (gain: number, splits: number) => boolean,
): Work<Map<number, Float32Array[]>> {
  const mean = parts.reduce((sum, { error }) => sum + error, 0) / Math.max(1, parts.length);
  const open: Divided[] = [];
  for (const part of parts) {
    if (part.error >= triedFrom * mean) yield* divide(sample, part, random, open);
  }
  const split = new Set<number>();
  const byGain = (a: Divided, b: Divided) => b.gain - a.gain || a.part.list - b.part.list;
  const whole: Divided[] = [];
  for (let splits = 0; open.length > 0; splits++) {
    const best = open.reduce((a, b) => (byGain(a, b) <= 0 ? a : b));
    if (!isWorthIt(best.gain, splits)) break;
    split.add(best.part.list);
    open.splice(open.indexOf(best), 1);
    for (const half of best.halves) {
      const before = open.length;
      if (half.error >= triedFrom * mean) yield* divide(sample, half, random, open);
      if (open.length === before) whole.push({ part: half, halves: [], gain: 0 });
    }
  }
  const found = new Map<number, Float32Array[]>();
  for (const { part } of [...open, ...whole]) {
    if (!split.has(part.list) || !("centroid" in part)) continue;
    found.set(part.list, [...(found.get(part.list) ?? []), part.centroid]);
  }
  return found;
}

/** Adds to `open` what a part could be split into, if it can be. */
function* divide(sample: Sample, part: Part | Half, random: () => number, open: Divided[]): Work<void> {
  const { dimension } = sample;
  const own = { ...sample, points: gather(sample.points, dimension, part.rows) };
  if (part.rows.length < 2) return;
  const { centroids, lists } = yield* withRows(own, (rows) => kmeans(rows, 2, random));
  const errors = squaredErrors(own, centroids, lists);
  const halves = [0, 1].map((half): Half => {
    const rows = part.rows.filter((_, i) => lists[i] === half);
    const error = errors.reduce((sum, each, i) => (lists[i] === half ? sum + each : sum), 0);
    const centroid = centroids.slice(half * dimension, (half + 1) * dimension);
    return { list: part.list, rows, error, centroid };
  });
  if (halves.some(({ rows }) => rows.length === 0)) return;
  open.push({ part, halves, gain: part.error - halves[0].error - halves[1].error });
}

/** The squared distance of each row of a sample from the centroid of its list. */
export function squaredErrors(
  { points, dimension }: Sample,
  centroids: Float32Array,
  lists: Uint32Array,
): Float64Array {
  return Float64Array.from(lists, (list, row) => {
    let sum = 0;
    for (let i = 0; i < dimension; i++)
      sum += (points[row * dimension + i] - centroids[list * dimension + i]) ** 2;
    return sum;
  });
}
