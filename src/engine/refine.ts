/**
 * Refining a model of an index that has grown: a few lists are split, and if there may be no more lists, others give up their rows and their
 * numbers for it. All others stay, with their centroids and their numbers. After SPFresh (Xu et al., 2023, arXiv 2410.14452), with two
 * differences: it is done for the index at a time, not per write, and a row moves only if its list changes.
 */

import { CoarseQuantizer } from "./coarse-quantizer.js";
import { moveToEnd, queryRows, unseenRows } from "./held-out.js";
import { floatsAt } from "./kernels/memory.js";
import { listCount, type Model } from "./model.js";
import { samplePositions, seededRandom } from "./random.js";
import { roundCentroids } from "./round-centroids.js";
import { countRows, gather, sortByList } from "./rows.js";
import { noList } from "./second-lists.js";
import { type Part, splitParts, squaredErrors, valuesTogether } from "./split-parts.js";
import { measureClusters, type Sample, withRows } from "./train.js";
import type { Work } from "./work.js";

/** The share of the lists, those of the smallest squared errors, that may be dissolved. */
const dissolvableShare = 1 / 8;
/** How many times its cost a split has to gain that takes the number of another list. */
const gainMin = 2;
/** How often the centroids of changed lists move to the means of their rows. */
const moves = 2;

/** A refined model, and what changed. */
export interface Refined {
  /** With the rotation of the one before. */
  readonly model: Model;
  /** Lists of the model before that were split or dissolved. All others have the centroids that they had. */
  readonly changed: ReadonlySet<number>;
}

/** A list that gives up its rows, and by how much the squared errors of these grow. */
interface Dissolvable {
  readonly list: number;
  readonly cost: number;
}

export interface RefineOptions {
  readonly nListsMax: number;
  readonly seed: number;
}

/**
 * Refines a model by a sample of the index's rows, to at most `nListsMax` lists unless it has more already. `storedIn`: the list of each row,
 * `noList` if it is in none. Deterministic in its arguments. New centroids do not depend on rows by which what queries should scan is measured.
 */
export function* refineModel(
  sample: Sample,
  storedIn: Uint32Array,
  known: Model,
  { nListsMax, seed }: RefineOptions,
): Work<Refined> {
  const { dimension } = sample;
  const nLists = listCount(known);
  const random = seededRandom(seed);
  const n = storedIn.length;
  const unseen = samplePositions(random, n, unseenRows(n, nLists));
  const isUnseen = new Set(unseen);
  const rows = Uint32Array.from(storedIn.keys()).filter((row) => !isUnseen.has(row));
  const placed = storedIn.slice();
  const place = (some: Uint32Array, lists: Uint32Array) => some.forEach((row, i) => (placed[row] = lists[i]));
  const unplaced = rows.filter((row) => placed[row] === noList);
  place(unplaced, yield* nearestLists(sample, known, unplaced));
  const lists = rows.map((row) => placed[row]);
  const errors = yield* squaredErrors(sample, rows, known.centroids, lists);
  const parts = partsOf(rows, lists, nLists, errors);
  const dissolvable = yield* dissolvableLists(sample, known, parts);
  const added = Math.max(0, nListsMax - nLists);
  let dissolved = 0;
  // Splits come by descending gain, dissolved lists by ascending cost.
  const isWorthIt = (gain: number, splits: number) => {
    // Nor a number, of rows beyond float32.
    if (!(gain > 0)) return false;
    if (splits < added) return true;
    const next = dissolvable[splits - added];
    if (next === undefined || gain < gainMin * next.cost) return false;
    dissolved++;
    return true;
  };
  const kept = new Set(dissolvable.map(({ list }) => list));
  const candidates = parts.filter(({ list }) => !kept.has(list));
  const split = yield* splitParts(sample, candidates, random, isWorthIt);

  const gone = dissolvable.slice(0, dissolved).map(({ list }) => list);
  const newParts = [...split.values()].reduce((sum, each) => sum + each.length - 1, 0);
  const centroids = new Float32Array((nLists + newParts - dissolved) * dimension);
  centroids.set(known.centroids);
  const free = [...gone, ...Array.from({ length: newParts - dissolved }, (_, i) => nLists + i)];
  for (const [list, own] of split) {
    const numbers = [list, ...free.splice(0, own.length - 1)];
    for (const [i, number] of numbers.entries()) centroids.set(own[i], number * dimension);
  }
  const changed = new Set([...split.keys(), ...gone]);
  // As rows are stored: those whose list stays are in it still, whatever new centroid is nearer.
  const moved = rows.filter((row) => changed.has(placed[row]));
  const isNew = (list: number) => changed.has(list) || list >= nLists;
  for (let round = 0; ; round++) {
    place(moved, yield* nearestLists(sample, { ...known, centroids }, moved));
    if (round === moves) break;
    yield* moveToMeans(sample, moved, placed, centroids, isNew);
  }
  const queries = queryRows(n, unseen.length);
  const measuring = { rotationSeed: known.rotationSeed, random, onCompared: () => undefined, queries };
  const { model } = yield* withRows(sample, (held) => {
    moveToEnd(floatsAt(held.at, sample.points.length), dimension, unseen);
    moveToEnd(placed, 1, unseen);
    return measureClusters(sample, held, { centroids, lists: placed.subarray(0, rows.length) }, measuring);
  });
  yield* roundCentroids(model, isNew);
  return { model, changed };
}

/** Moves the centroids of some lists to the means of those of `rows` that are in them. */
function* moveToMeans(
  { points, dimension }: Sample,
  rows: Uint32Array,
  lists: Uint32Array,
  centroids: Float32Array,
  isMoved: (list: number) => boolean,
): Work<void> {
  const sums = new Float64Array(centroids.length);
  const sizes = countRows(
    rows.map((row) => lists[row]),
    centroids.length / dimension,
  );
  const piece = Math.ceil(valuesTogether / dimension);
  for (const [at, row] of rows.entries()) {
    const to = lists[row] * dimension;
    for (let i = 0; i < dimension; i++) sums[to + i] += points[row * dimension + i];
    if (at % piece === piece - 1) yield;
  }
  sizes.forEach((size, list) => {
    if (size === 0 || !isMoved(list)) return;
    for (let i = list * dimension; i < (list + 1) * dimension; i++) centroids[i] = sums[i] / size;
  });
}

/** The nearest list of each of these rows of the sample. */
function* nearestLists(
  { points, dimension, metric }: Sample,
  model: Model,
  rows: Uint32Array,
): Work<Uint32Array> {
  const quantizer = yield* CoarseQuantizer.open(model, metric);
  try {
    return yield* quantizer.assignAll(rows.length, (first, count) =>
      gather(points, dimension, rows.subarray(first, first + count)),
    );
  } finally {
    quantizer.free();
  }
}

/** The rows of each list; `lists` and `errors` are theirs. */
function partsOf(rows: Uint32Array, lists: Uint32Array, nLists: number, errors: Float64Array): Part[] {
  const order = sortByList(lists, nLists);
  let start = 0;
  return Array.from({ length: nLists }, (_, list) => {
    let end = start;
    let error = 0;
    while (end < order.length && lists[order[end]] === list) error += errors[order[end++]];
    const own = order.subarray(start, end).map((i) => rows[i]);
    start = end;
    return { list, rows: own, error };
  });
}

/** Lists of small squared errors, by ascending cost of dissolving them. */
function* dissolvableLists(sample: Sample, known: Model, parts: readonly Part[]): Work<Dissolvable[]> {
  const { dimension } = sample;
  const byError = parts.toSorted((a, b) => a.error - b.error || a.list - b.list);
  const some = byError.slice(0, Math.floor(dissolvableShare * parts.length));
  if (some.length === 0) return [];
  const others = byError.slice(some.length).map(({ list }) => list);
  const centroids = gather(known.centroids, dimension, Uint32Array.from(others));
  const rows = Uint32Array.from(some.flatMap((part) => Array.from(part.rows)));
  const nearest = yield* nearestLists(sample, { ...known, centroids }, rows);
  const errors = yield* squaredErrors(sample, rows, centroids, nearest);
  let at = 0;
  const costs = some.map(({ list, rows: left, error }) => {
    const after = errors.subarray(at, (at += left.length)).reduce((sum, each) => sum + each, 0);
    return { list, cost: after - error };
  });
  return costs.sort((a, b) => a.cost - b.cost || a.list - b.list);
}
