/** How many lists, and how far away, a search scans: by the limits that training measured, unless the query says. */

import type { CoarseQuantizer } from "../engine/lists/coarse-quantizer.js";
import type { NearestList } from "../engine/scan/search-lists.js";
import { listCount, type Model } from "../engine/model.js";
import { probeLimit } from "../engine/lists/probe-limits.js";
import { type OutlyingPruning, outlyingPruning, uniformPruning } from "../engine/pruning.js";
import { epsilonByDefault } from "../engine/query-vector.js";
import {
  automatic,
  limitsFor,
  type Reach,
  type RecallCurves,
  type ScanLimits,
} from "../engine/recall-curves.js";
import type { Rotation } from "../engine/rotation.js";

/**
 * The effort of a query: the exact answer, a number of lists that have a match, or as many lists as a
 * recall needs. An undefined recall is that of automatic probing.
 */
export type Effort = "exact" | { readonly lists: number } | Automatic;

interface Automatic {
  readonly lists: undefined;
  readonly recall: number | undefined;
}

/** The number of neighbors of a query, and its effort. */
export interface Probing {
  readonly topK: number;
  readonly effort: Effort;
}

/** The goal of a search, as far as its limits depend on it. */
export interface Sought {
  readonly topK: number;
  readonly recall: number | undefined;
  /** Whether `topK` is the depth of a search with a filter that rejects some of the rows around the query. Default false. */
  readonly isFiltered?: boolean;
}

/** The share of its loss that a search with a filter allows: how many rows around a query match, and so how deep it is, is an estimate. */
const filteredLoss = 3 / 4;

/** How many times as far from the nearest list as rows of lists usually are, squared, a query is if it is far from all rows. */
const farFromRows = 9;

/** Whether a query is far from all rows, so that neither ranks nor distance ratios of lists say where its neighbors are. */
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

/** Whether the index chooses the lists. */
export function isAutomatic(effort: Effort): effort is Automatic {
  return effort !== "exact" && effort.lists === undefined;
}

/** Whether the query scans every list. */
export function isWhole(effort: Effort, nLists: number): boolean {
  return effort === "exact" || (!isAutomatic(effort) && effort.lists >= nLists);
}

/** The limits of a query without a filter: by the recall curves, unless it asks for a number of lists. */
export function scanLimits(model: Model, { topK, effort }: Probing, growth: number): Reach {
  if (effort === "exact" || isAutomatic(effort)) {
    const recall = effort === "exact" ? undefined : effort.recall;
    return limitsSince(model.curves, { topK, recall }, growth);
  }
  const probes = Math.min(effort.lists, listCount(model));
  return { probes, ratio: probeLimit(model.probeLimits, probes), epsilon: epsilonByDefault };
}

/** The same of a search that finds rows in second lists, too, and leaves the number of lists to the index. Undefined: no row is in two. */
export function spilledLimits(
  { spilledCurves }: Model,
  sought: Sought,
  growth: number,
): ScanLimits | undefined {
  return spilledCurves && limitsSince(spilledCurves, sought, growth);
}

/**
 * The limits for a depth in an index that has changed since training measured them. A row of an index that shrank is as deep as several were. One that
 * grew keeps its limits, which find more among more rows: some of these may only replace others, or be unlike those that were measured.
 */
export function limitsSince(curves: RecallCurves, sought: Sought, growth: number): ScanLimits {
  const { topK, recall, isFiltered = false } = sought;
  const depth = growth < 1 ? topK / growth : topK;
  return rememberedLimits(curves, depth, recall, isFiltered);
}

function filteredLimits(curves: RecallCurves, depth: number, recall: number | undefined): ScanLimits {
  const aimed = 1 - filteredLoss * (1 - (recall ?? automatic.recall));
  const [known, more] = [limitsFor(curves, depth, recall), limitsFor(curves, depth, aimed)];
  return { ...wider(known, more), cosine: Math.max(known.cosine, more.cosine) };
}

/** By how much codes may be off if an outlying query needs lists up to this `cosine`: they may lose a few neighbors if no recall is declared. */
export function pruningOf(
  { recall }: Sought,
  cosine: number,
  { rotated }: Pick<Rotation, "rotated">,
): OutlyingPruning {
  return recall === undefined ? outlyingPruning(cosine, rotated) : uniformPruning(epsilonByDefault);
}

/** The wider of two limits. */
export function wider(a: Reach, b: Reach): Reach {
  return {
    probes: Math.max(a.probes, b.probes),
    ratio: Math.max(a.ratio, b.ratio),
    epsilon: Math.max(a.epsilon, b.epsilon),
  };
}

interface Answer {
  readonly depth: number;
  readonly recall: number | undefined;
  readonly limits: ScanLimits;
}

const lastAnswers = new WeakMap<RecallCurves, Answer>();
/** A search with a filter asks for both. */
const lastFilteredAnswers = new WeakMap<RecallCurves, Answer>();

/** Most queries of an index ask for the same as the one before, and powers take a fiftieth of a short query. */
function rememberedLimits(
  curves: RecallCurves,
  depth: number,
  recall: number | undefined,
  isFiltered: boolean,
): ScanLimits {
  const answers = isFiltered ? lastFilteredAnswers : lastAnswers;
  const last = answers.get(curves);
  if (last?.depth === depth && last.recall === recall) return last.limits;
  const limits = (isFiltered ? filteredLimits : limitsFor)(curves, depth, recall);
  answers.set(curves, { depth, recall, limits });
  return limits;
}
