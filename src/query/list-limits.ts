/**
 * Which lists a search scans: by the limits that training measured, unless the query says.
 *
 * With a filter, lists without a matching row are skipped. A filter that keeps a share s of the rows around the query leaves the k-th match as far
 * away as the (k / s)-th row is, so automatic probing asks the curves of training for that depth.
 *
 * A query that lies outside of all rows, or of those that its filter accepts, has its neighbors about equally far away in many lists: it has a limit of
 * the distance ratio that training measured of such queries.
 */

import type { CoarseQuantizer } from "../engine/lists/coarse-quantizer.js";
import type { ListSearch, NearList } from "../engine/scan/search-lists.js";
import type { MatchTable } from "../engine/scan/match-table.js";
import { listCount, type Model } from "../engine/model.js";
import { probeLimit } from "../engine/lists/probe-limits.js";
import { epsilonByDefault } from "../engine/query-vector.js";
import {
  automatic,
  limitsFor,
  type Reach,
  type RecallCurves,
  type ScanLimits,
} from "../engine/recall-curves.js";
import { distributionOf, type Matches } from "./matches.js";
import type { Snapshot } from "./snapshot/snapshot.js";
import type { Trained } from "../engine/scan/choose-codec.js";

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
const filteredLoss = 3 / 5;

/** How many times as far from the nearest list as rows of lists usually are, squared, a query is if it is far from all rows. */
const farFromRows = 9;

/** Whether a query is far from all rows, so that neither ranks nor distance ratios of lists say where its neighbors are. */
export function isFarFromRows(
  quantizer: CoarseQuantizer,
  spreads: Float32Array,
  nearest: NearList | undefined,
): boolean {
  if (nearest === undefined) return false;
  const { list } = nearest;
  const square = quantizer.distanceToCentroid(list, Math.sqrt(nearest.square)) ** 2;
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
function limitsSince(curves: RecallCurves, sought: Sought, growth: number): ScanLimits {
  const { topK, recall, isFiltered = false } = sought;
  const depth = growth < 1 ? topK / growth : topK;
  return rememberedLimits(curves, depth, recall, isFiltered);
}

function filteredLimits(curves: RecallCurves, depth: number, recall: number | undefined): ScanLimits {
  const aimed = 1 - filteredLoss * (1 - (recall ?? automatic.recall));
  const [known, more] = [limitsFor(curves, depth, recall), limitsFor(curves, depth, aimed)];
  return { ...wider(known, more), outside: Math.max(known.outside, more.outside) };
}

// The limits of one query among its matches.

/** A query lies among matches if the share of matches around it is at least this part of the share around a match. */
const amongShare = 0.7;

/** A query lies outside of its matches if it is this many times farther from the nearest list that has one, squared, than rows of the list are. */
const outsideMatches = 2;

/** The scope of a query. */
interface Limited {
  readonly trained: Trained;
  readonly snapshot: Snapshot;
  readonly matches: Matches | undefined;
}

/** The limits of a query, and the goal that they were chosen for if the index chose them. */
interface ListLimits {
  readonly limits: Reach;
  readonly sought?: Sought;
}

/** Those of a query in a trained index. Whether it lies outside of all rows is known once its nearest list is: see `isFarFromRows`. */
export function listLimits(
  { trained: { model }, snapshot, matches }: Limited,
  search: ListSearch,
  matching: MatchTable | undefined,
  probing: Probing,
): ListLimits {
  const { topK, effort } = probing;
  const { growth } = snapshot;
  const isChosen = isAutomatic(effort);
  if (matches === undefined || matching === undefined) {
    const limits = scanLimits(model, probing, growth);
    return isChosen ? { limits, sought: { topK, recall: effort.recall } } : { limits };
  }
  // Few matches are worth looking for in every list.
  if (matches.isSelective) return { limits: { ...noLimit, probes: matching.count } };
  if (!isChosen) return { limits: { ...noLimit, probes: scanLimits(model, probing, growth).probes } };
  const { recall } = effort;
  const { concentration } = distributionOf(snapshot, matches);
  const around = search.shareAround(matching, scanLimits(model, probing, growth), outsideMatches);
  const isOutside = around === 0;
  const depth = isOutside ? topK : topK / Math.min(around, concentration);
  if (!isOutside && around >= amongShare * concentration) {
    const sought = { topK: depth, recall, isFiltered: depth > topK };
    return { limits: limitsSince(model.curves, sought, growth), sought };
  }
  // At a small depth, held-out rows show little of queries unlike them.
  const deepest = Math.max(automatic.depth, depth, depthOutside(topK, matches.share, concentration));
  const wide = { topK: deepest, recall, isFiltered: true };
  const limits = limitsSince(model.curves, wide, growth);
  const outside = outsideLimits(limits, matching.count);
  return { limits: isOutside ? outside : wider(limits, outside) };
}

/** The limits of a query that lies outside of all rows. */
export function farLimits({ trained, snapshot }: Limited, sought: Sought): Reach {
  const { model } = trained;
  return outsideLimits(limitsSince(model.curves, sought, snapshot.growth), listCount(model));
}

function outsideLimits({ outside, epsilon }: ScanLimits, lists: number): Reach {
  return { probes: lists, ratio: outside, epsilon: Math.max(epsilonByDefault, epsilon) };
}

const noLimit = { ratio: Infinity, epsilon: epsilonByDefault };

/**
 * The depth of a query outside of the rows that its filter accepts. If lists match as a whole, its matches are a share of the rows outside of its
 * surroundings, of which training measured all. The fewer of the rows around a match do, the less matches lie as those rows do, and the smaller is
 * the depth, which finds more: then that is `topK / concentration`.
 */
function depthOutside(topK: number, share: number, concentration: number): number {
  return topK / (share ** concentration * concentration ** (1 - concentration));
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
