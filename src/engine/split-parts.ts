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

/** Numbers between two pauses. */
export const valuesTogether = 2 ** 20;

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
  let [total, count] = [parts.reduce((sum, { error }) => sum + error, 0), parts.length];
  const open: Divided[] = [];
  const whole: (Part | Half)[] = [];
  const untried: (Part | Half)[] = parts.filter(({ error }) => count * error >= total);
  const split = new Set<number>();
  const byGain = (a: Divided, b: Divided) => b.gain - a.gain || a.part.list - b.part.list;
  for (let splits = 0; ; splits++) {
    // Of at least the mean error, which falls with each split: that of a crowd far from its centroid can be most of it.
    for (let i = untried.length - 1; i >= 0; i--) {
      if (count * untried[i].error < total) continue;
      const [part] = untried.splice(i, 1);
      const divided = yield* divide(sample, part, random);
      if (divided === undefined) whole.push(part);
      else open.push(divided);
    }
    if (open.length === 0) break;
    const best = open.reduce((a, b) => (byGain(a, b) <= 0 ? a : b));
    if (!isWorthIt(best.gain, splits)) break;
    split.add(best.part.list);
    open.splice(open.indexOf(best), 1);
    untried.push(...best.halves);
    total -= best.gain;
    count++;
  }
  const found = new Map<number, Float32Array[]>();
  const left: readonly (Part | Half)[] = [...open.map(({ part }) => part), ...whole, ...untried];
  for (const part of left) {
    if (!split.has(part.list) || !("centroid" in part)) continue;
    found.set(part.list, [...(found.get(part.list) ?? []), part.centroid]);
  }
  return found;
}

/** What a part could be split into; undefined if it cannot be. */
function* divide(sample: Sample, part: Part | Half, random: () => number): Work<Divided | undefined> {
  if (part.rows.length < 2) return undefined;
  const { dimension } = sample;
  const own = { ...sample, points: gather(sample.points, dimension, part.rows) };
  const { centroids, lists } = yield* withRows(own, (rows) => kmeans(rows, 2, random));
  const errors = yield* squaredErrors(sample, part.rows, centroids, lists);
  const halves = [0, 1].map((half): Half => {
    const rows = part.rows.filter((_, i) => lists[i] === half);
    const error = errors.reduce((sum, each, i) => (lists[i] === half ? sum + each : sum), 0);
    const centroid = centroids.slice(half * dimension, (half + 1) * dimension);
    return { list: part.list, rows, error, centroid };
  });
  if (halves.some(({ rows }) => rows.length === 0)) return undefined;
  return { part, halves, gain: part.error - halves[0].error - halves[1].error };
}

/** The squared distances of these rows of a sample from the centroids of their lists. */
export function* squaredErrors(
  { points, dimension }: Sample,
  rows: Uint32Array,
  centroids: Float32Array,
  lists: Uint32Array,
): Work<Float64Array> {
  const errors = new Float64Array(rows.length);
  const piece = Math.ceil(valuesTogether / dimension);
  for (const [i, row] of rows.entries()) {
    let sum = 0;
    const [point, centroid] = [row * dimension, lists[i] * dimension];
    for (let j = 0; j < dimension; j++) sum += (points[point + j] - centroids[centroid + j]) ** 2;
    errors[i] = sum;
    if (i % piece === piece - 1) yield;
  }
  return errors;
}
