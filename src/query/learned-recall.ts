/**
 * The recall that real queries get. Training measures limits with rows that it holds out, and queries may be of another kind than
 * the rows: sentences that ask among sentences that answer. So some of the queries that an index is asked are answered exactly, too,
 * and by the limits of several declared recalls. If limits of a declared .95 find .91 and those of .97 find .95, a query that declares
 * .95 gets the limits of .97.
 *
 * Kept in memory alone, and of each query only the shares of its neighbors that were found.
 */

import type { Model } from "../engine/model.js";
import type { MeasuredPoint, MeasuredRecall } from "../api/vector-index.js";

/** Recalls whose limits are tried; those above .999 are limits of deeper searches. Limits between two of them are interpolated. */
export const triedRecalls = [0.8, 0.9, 0.95, 0.97, 0.985, 0.995, 0.999, 0.9999, 0.99999];
/** Numbers of neighbors that they are tried with. */
export const triedDepths = [10, 100];
/** The recall that automatic probing promises. */
const automaticRecall = 0.95;

/** Results from which on they count: of a hundred, a recall of .9 is known to within .02. */
const resultsMin = 100;
/** Results that are kept: a new one replaces the oldest. */
export const resultsMax = 300;
/** Once there are as many, the share of queries that replace one. */
const renewedShare = 0.02;
/** A query gets the limits of at most this many times its own loss, so that easy queries of one caller do little to others. */
const lossTimesMax = 2;

/** Per depth and tried recall, the share of a query's nearest rows that was found. */
export type QueryRecall = readonly (readonly number[])[];

export class LearnedRecall {
  readonly #random: () => number;
  /** Those whose limits were tried: one, or those of all shards. */
  #models: readonly Model[] = [];
  #results: QueryRecall[] = [];
  #next = 0;
  /** Per depth and tried recall; undefined until there are enough results. */
  #found: number[][] | undefined;
  /** The last result of `limitsOf`: most queries of an index ask for the same. */
  #last: { readonly recall: number | undefined; readonly topK: number; readonly limits: number } | undefined;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Whether one more query of these models should be compared. */
  isWanted(models: readonly Model[]): boolean {
    return !this.#isOf(models) || this.#results.length < resultsMax || this.#random() < renewedShare;
  }

  /** Takes the result of a query. Those of other models are forgotten: their limits are other ones. */
  add(models: readonly Model[], result: QueryRecall): void {
    if (!this.#isOf(models)) this.#forget(models);
    this.#results[this.#next] = result;
    this.#next = (this.#next + 1) % resultsMax;
    this.#last = undefined;
    if (this.#results.length >= resultsMin) this.#found = foundBy(this.#results);
  }

  /**
   * The recall whose limits find the declared one, or that of automatic probing, among `topK` neighbors. As declared until enough is
   * known.
   */
  limitsOf(models: readonly Model[], recall: number | undefined, topK: number): number | undefined {
    if (this.#found === undefined || !this.#isOf(models)) return recall;
    if (this.#last?.topK === topK && this.#last.recall === recall) return this.#last.limits;
    const loss = 1 - (recall ?? automaticRecall);
    const [few, many] = this.#found.map((found) => lossFinding(found, loss));
    const share = depthShare(topK);
    // Whether one neighbor was found says little, so below ten their limits may rise with those of ten, not fall.
    const most = topK < triedDepths[0] ? loss : lossTimesMax * loss;
    const limits = 1 - Math.min(most, few ** (1 - share) * many ** share);
    this.#last = { recall, topK, limits };
    return limits;
  }

  /** The recall found by queries that declare these recalls. */
  measured(models: readonly Model[], recalls: readonly number[]): MeasuredRecall[] {
    if (this.#found === undefined || !this.#isOf(models)) return [];
    return triedDepths.map((topK, depth) => ({
      topK,
      queries: this.#results.length,
      points: recalls.map((recall) => {
        const limits = this.limitsOf(models, recall, topK) ?? recall;
        const shares = this.#results.map((result) => foundAt(result[depth], limits));
        return { recall, ...interval(shares, topK) };
      }),
    }));
  }

  #isOf(models: readonly Model[]): boolean {
    return models.length === this.#models.length && models.every((model, i) => model === this.#models[i]);
  }

  #forget(models: readonly Model[]): void {
    this.#models = models;
    this.#results = [];
    this.#next = 0;
    this.#found = undefined;
  }
}

/** The least recall found: the mean of the queries less its standard error, by which a mean of other queries may differ. */
function foundBy(results: readonly QueryRecall[]): number[][] {
  return triedDepths.map((_, depth) => {
    const means = meansOf(results, depth);
    let best = 0;
    return means.map((mean, i) => {
      const squares = results.reduce((sum, result) => sum + (result[depth][i] - mean) ** 2, 0);
      // Larger limits find no less: where a sample says so, it is chance.
      best = Math.max(best, mean - Math.sqrt(squares) / results.length);
      return best;
    });
  });
}

function meansOf(results: readonly QueryRecall[], depth: number): number[] {
  return triedRecalls.map(
    (_, i) => results.reduce((sum, result) => sum + result[depth][i], 0) / results.length,
  );
}

/** Standard deviations of a normal distribution within which 95 % of it are. */
const deviations95 = 1.96;

/**
 * The mean of the queries' shares, and its 95 % confidence interval: the score interval of Wilson ("Probable inference, the law of
 * succession, and statistical inference", JASA 22, 1927), which stays within 0 and 1, for the number of independent neighbors that has the
 * variance seen (Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts estimated from
 * survey data", Survey Methodology 24, 1998), since neighbors of one query are found or missed together. Limits that were learned from the same queries make it
 * a little too narrow.
 */
function interval(shares: readonly number[], topK: number): Pick<MeasuredPoint, "found" | "low" | "high"> {
  const n = shares.length;
  const found = shares.reduce((sum, share) => sum + share, 0) / n;
  const spread = found * (1 - found);
  const variance = shares.reduce((sum, share) => sum + (share - found) ** 2, 0) / (n - 1);
  const independent = variance === 0 ? n * topK : Math.min(n * topK, (n * spread) / variance);
  const excess = deviations95 ** 2 / independent;
  const center = (found + excess / 2) / (1 + excess);
  const half = Math.sqrt((excess * (spread + excess / 4)) / (1 + excess) ** 2);
  return { found, low: Math.max(0, center - half), high: Math.min(1, Math.max(found, center + half)) };
}

/** Where a number of neighbors lies between the tried ones, by logarithm: 0 to 1. */
function depthShare(topK: number): number {
  const [few, many] = triedDepths;
  return Math.min(1, Math.max(0, Math.log(topK / few) / Math.log(many / few)));
}

/** The largest loss whose limits lose no more than `loss`, between tried ones by the logarithm of both. */
function lossFinding(found: readonly number[], loss: number): number {
  const enough = found.findIndex((each) => 1 - each <= loss);
  if (enough < 0) return 1 - triedRecalls[triedRecalls.length - 1];
  if (enough === 0) return 1 - triedRecalls[0];
  const part = partOf(1 - found[enough - 1], 1 - found[enough], loss);
  return (1 - triedRecalls[enough - 1]) ** (1 - part) * (1 - triedRecalls[enough]) ** part;
}

/** The recall found by the limits of `asked`. */
function foundAt(found: readonly number[], asked: number): number {
  const above = triedRecalls.findIndex((recall) => recall >= asked);
  if (above < 0) return found[found.length - 1];
  if (above === 0) return found[0];
  const part = partOf(1 - triedRecalls[above - 1], 1 - triedRecalls[above], 1 - asked);
  return found[above - 1] + part * (found[above] - found[above - 1]);
}

/** Where a loss lies between two, by logarithm: 0 to 1. */
function partOf(from: number, to: number, loss: number): number {
  return Math.log(from / loss) / Math.log(from / Math.max(to, lossMin));
}

/** A loss of none, for logarithms: less than is tried. */
const lossMin = 1e-6;
