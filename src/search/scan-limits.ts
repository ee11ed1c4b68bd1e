/** How many lists, and how far away, a search scans: by what training measured, unless the query says. */

import type { CoarseQuantizer } from "../engine/coarse-quantizer.js";
import type { NearestList } from "../engine/list-search.js";
import { listCount, type Model } from "../engine/model.js";
import { probeLimit } from "../engine/probe-limits.js";
import { limitsFor, type RecallCurves, type ScanLimits } from "../engine/recall-curves.js";

/** How a query asks; see CheckedQuery. */
export interface Probing {
  readonly topK: number;
  readonly nProbes: number;
  readonly greedy: boolean;
  /** With `nProbes` 0: the declared recall; undefined: automatic probing. */
  readonly recall?: number | undefined;
}

/** How many times as far from the nearest list as rows of lists usually are, squared, a query is if it is far from all rows. */
const farFromRows = 9;

/** Whether a query is far from all rows, so that neither ranks nor distance ratios of lists say where its neighbours are. */
export function isFarFromRows(
  quantizer: CoarseQuantizer,
  spreads: Float32Array,
  { list, distance }: NearestList,
): boolean {
  const square = quantizer.distanceToCentroid(list, distance) ** 2;
  // A list of few rows, or of equal ones, says little about how far rows are.
  return square > farFromRows * spreads[list] && square > farFromRows * mean(spreads);
}

function mean(values: Float32Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** What a query scans of the lists if it has no filter: by the curves of training, unless it asks for a number of lists. */
export function scanLimits(
  model: Model,
  { topK, nProbes, recall }: Probing,
  growth: number,
): Pick<ScanLimits, "probes" | "ratio"> {
  if (nProbes === 0) return limitsSince(model.curves, topK, recall, growth);
  const probes = Math.min(nProbes, listCount(model));
  return { probes, ratio: probeLimit(model.probeLimits, probes) };
}

/** The same of a search that finds rows in second lists, too, and leaves the number of lists to the index. Undefined: no row is in two. */
export function spilledLimits(
  { spilledCurves }: Model,
  { topK, recall }: Probing,
  growth: number,
): ScanLimits | undefined {
  return spilledCurves && limitsSince(spilledCurves, topK, recall, growth);
}

/**
 * The limits for a depth in an index that has changed since training measured them. A row of an index that shrank is as deep as several were. One that
 * grew keeps its limits, which find more among more rows: some of these may only replace others, or be unlike those that were measured.
 */
export function limitsSince(
  curves: RecallCurves,
  depth: number,
  recall: number | undefined,
  growth: number,
): ScanLimits {
  const last = lastAnswers.get(curves);
  if (last?.depth === depth && last.recall === recall && last.growth === growth) return last.limits;
  const limits = limitsFor(curves, growth < 1 ? depth / growth : depth, recall);
  lastAnswers.set(curves, { depth, recall, growth, limits });
  return limits;
}

/** Most queries of an index ask for what the one before them asked for, and powers take a fiftieth of a short query. */
const lastAnswers = new WeakMap<
  RecallCurves,
  {
    readonly depth: number;
    readonly recall: number | undefined;
    readonly growth: number;
    readonly limits: ScanLimits;
  }
>();
