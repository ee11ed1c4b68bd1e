/** How many lists, and how far away, a search scans: by what training measured, unless the query says. */

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
 * The limits for a depth in an index that has grown since training measured them. A row of an index that shrank is as deep as several
 * were. Rows that came later may be unlike those that were measured, so fewer of the others may be lost.
 */
export function limitsSince(
  curves: RecallCurves,
  depth: number,
  recall: number | undefined,
  growth: number,
): ScanLimits {
  const last = lastAnswers.get(curves);
  if (last?.depth === depth && last.recall === recall && last.growth === growth) return last.limits;
  const kept = recall === undefined || growth <= 1 ? recall : 1 - (1 - recall) / growth;
  const limits = limitsFor(curves, growth < 1 ? depth / growth : depth, kept);
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
