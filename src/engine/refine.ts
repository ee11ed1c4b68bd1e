/**
 * Refining a model of an index that has grown: lists that became much longer than others are split, and if there may be no more lists, the
 * shortest ones give up their rows and their numbers for it. All others stay, with their centroids and their numbers. After
 * SPFresh (Xu et al., 2023, arXiv 2410.14452), with two differences: it is done for the index at a time, not per write, and a row moves only if its list
 * changes.
 */

import { CoarseQuantizer } from "./coarse-quantizer.js";
import { kmeans } from "./kmeans.js";
import { listCount, type Model } from "./model.js";
import { seededRandom } from "./random.js";
import { countRows, gather, sortByList } from "./rows.js";
import { measureClusters, type Sample, withRows } from "./train.js";
import type { Work } from "./work.js";

/** How many times as long as the mean a list is that is split in any case. */
const longLists = 2;
/** The share of the mean up to which a list is so short that it gives up its number. */
const shortLists = 1 / 3;

/** A refined model, and what changed. */
export interface Refined {
  /** With the rotation of the one before. */
  readonly model: Model;
  /** Lists of the model before that have other centroids now. */
  readonly changed: ReadonlySet<number>;
}

/** Which lists a refinement changes. */
export interface Changes {
  /** Per list that is split, into how many. */
  readonly splits: ReadonlyMap<number, number>;
  /** Lists that give up their rows. */
  readonly dissolved: readonly number[];
}

/**
 * Refines a model by a sample of the index's rows, to at most `nListsMax` lists unless it has more already. Deterministic in its
 * arguments.
 */
export function* refineModel(sample: Sample, known: Model, nListsMax: number, seed: number): Work<Refined> {
  const { points, dimension } = sample;
  const random = seededRandom(seed);
  const before = yield* nearestLists(sample, known);
  const nLists = listCount(known);
  const { splits, dissolved } = chooseLists(countRows(before, nLists), nListsMax);
  const lists = nLists + [...splits.values()].reduce((sum, parts) => sum + parts - 1, -dissolved.length);
  const centroids = new Float32Array(lists * dimension);
  centroids.set(known.centroids);
  const free = [...dissolved, ...Array.from({ length: lists - nLists }, (_, i) => nLists + i)];
  const byList = sortByList(before, nLists);
  for (const [list, parts] of splits) {
    const first = byList.findIndex((row) => before[row] === list);
    const last = byList.findLastIndex((row) => before[row] === list);
    const own = { ...sample, points: gather(points, dimension, byList.subarray(first, last + 1)) };
    const found = yield* withRows(own, (rows) => kmeans(rows, parts, random));
    const numbers = [list, ...free.splice(0, parts - 1)];
    for (const [i, number] of numbers.entries()) {
      const centroid = found.centroids.subarray(i * dimension, (i + 1) * dimension);
      centroids.set(centroid, number * dimension);
    }
  }
  const changed = new Set([...splits.keys(), ...dissolved]);
  const nearest = yield* nearestLists(sample, { ...known, centroids });
  // As rows are stored: those whose list stays are in it still, whatever new centroid is nearer.
  const placed = before.map((list, row) => (changed.has(list) ? nearest[row] : list));
  const model = yield* withRows(sample, (rows) =>
    measureClusters(
      sample,
      rows,
      { centroids, lists: placed },
      { rotationSeed: known.rotationSeed, random, onCompared: () => undefined },
    ),
  );
  return { model, changed };
}

function* nearestLists(
  { points, dimension, metric }: Sample,
  model: Pick<Model, "dimension" | "centroids" | "rotationSeed"> & Model,
): Work<Uint32Array> {
  const quantizer = yield* CoarseQuantizer.open(model, metric);
  try {
    return yield* quantizer.assignAll(points.length / dimension, (first, count) =>
      points.subarray(first * dimension, (first + count) * dimension),
    );
  } finally {
    quantizer.free();
  }
}

/** `sizes`: rows per list. There are at most `nListsMax` lists afterwards, or as many as before. */
export function chooseLists(sizes: Uint32Array, nListsMax: number): Changes {
  const added = Math.max(0, nListsMax - sizes.length);
  const rows = sizes.reduce((sum, size) => sum + size, 0);
  const mean = rows / (sizes.length + added);
  const byLength = Array.from(sizes.keys()).sort((a, b) => sizes[b] - sizes[a] || a - b);
  const short = byLength.filter((list) => sizes[list] <= shortLists * mean).reverse();
  const splits = new Map<number, number>();
  let left = added + short.length;
  let parts = 0;
  for (const list of byLength) {
    const isLong = sizes[list] > longLists * mean;
    if (left === 0 || (!isLong && parts >= added) || sizes[list] < 2) break;
    const wanted = isLong ? Math.max(2, Math.round(sizes[list] / mean)) : 2;
    const more = Math.min(left, wanted - 1, sizes[list] - 1);
    splits.set(list, 1 + more);
    left -= more;
    parts += more;
  }
  return { splits, dissolved: short.slice(0, Math.max(0, parts - added)) };
}
