/**
 * The recall that real queries get. Training measures limits with rows that it holds out, and queries may be of another kind than
 * the rows: sentences that ask among sentences that answer. So a few of the queries that an index is asked are answered exactly, and
 * by the limits of several declared recalls. If limits of a declared .95 find .91 and those of .97 find .95, a query that declares .95 gets
 * the limits of .97.
 *
 * Nothing of it is stored: vectors are overwritten as soon as they were compared, and only numbers of neighbours found are kept.
 */

import type { Model } from "../engine/model.js";

/** Declared recalls whose limits are tried. A search between two of them is interpolated. */
export const triedRecalls = [0.8, 0.9, 0.95, 0.97, 0.985, 0.993, 0.997, 0.999];
/** Numbers of neighbours that they are tried with. */
export const triedDepths = [10, 100];
/** What automatic probing promises. */
const automaticRecall = 0.95;

/** Queries from which on what they found counts. Of a hundred, a recall of .9 is known to within .02. */
const queriesMin = 100;
/** Results that are kept: a new one replaces the oldest. */
const queriesMax = 300;
/** Queries that wait to be compared. */
const waitingMax = 16;
/** Once the results are full, the share of queries that replace one. */
const renewedShare = 0.02;
/** The limits of a query are those of a loss between these multiples of what it declares: so odd queries of one caller do little to others. */
const [lossTimesMin, lossTimesMax] = [1 / 8, 2];

/** Per depth and tried recall, the share of the query's nearest rows that was found. */
export type QueryRecall = readonly (readonly number[])[];

/** What queries declare, and what they find. */
export interface MeasuredRecall {
  /** Neighbours that were asked for. */
  readonly topK: number;
  /** Queries that were answered exactly. */
  readonly queries: number;
  readonly points: readonly { readonly recall: number; readonly found: number }[];
}

export class LearnedRecall {
  readonly #random: () => number;
  readonly #waiting: Float32Array[] = [];
  #model: Model | undefined;
  #results: QueryRecall[] = [];
  #next = 0;
  /** Per depth and tried recall; undefined until there are enough results. */
  #found: number[][] | undefined;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Takes a copy of a query's vector, of few of them. Returns whether one waits to be compared. */
  sample(model: Model, vector: Float32Array): boolean {
    this.#use(model);
    const isWanted = this.#results.length < queriesMax || this.#random() < renewedShare;
    if (isWanted && this.#waiting.length < waitingMax) this.#waiting.push(vector.slice());
    return this.#waiting.length > 0;
  }

  /** Gives the oldest sampled query to `compare`, which returns undefined if it cannot compare it, and overwrites it then. */
  async compareNext(compare: (vector: Float32Array) => Promise<QueryRecall | undefined>): Promise<void> {
    const vector = this.#waiting.shift();
    if (vector === undefined) return;
    const model = this.#model;
    try {
      const result = await compare(vector);
      if (result !== undefined && this.#model === model) this.add(result);
    } finally {
      vector.fill(0);
    }
  }

  add(result: QueryRecall): void {
    this.#results[this.#next] = result;
    this.#next = (this.#next + 1) % queriesMax;
    if (this.#results.length >= queriesMin) this.#found = foundBy(this.#results);
  }

  /** The recall whose limits find the declared one, or the one of automatic probing, among `topK` neighbours. Undefined: as training measured. */
  limitsOf(model: Model, recall: number | undefined, topK: number): number | undefined {
    if (this.#found === undefined || this.#model !== model) return recall;
    const loss = 1 - (recall ?? automaticRecall);
    const [few, many] = this.#found.map((found) => Math.log(lossFinding(found, loss)));
    const learned = Math.exp(few + depthShare(topK) * (many - few));
    // One neighbour is found by other lists than ten are: those may ask for more, not for less.
    const lossMax = topK < triedDepths[0] ? loss : lossTimesMax * loss;
    return 1 - Math.min(lossMax, Math.max(lossTimesMin * loss, learned));
  }

  measured(model: Model): MeasuredRecall[] {
    if (this.#found === undefined || this.#model !== model) return [];
    const queries = this.#results.length;
    return triedDepths.map((topK, depth) => ({
      topK,
      queries,
      points: triedRecalls.map((recall) => {
        const asked = this.limitsOf(model, recall, topK) ?? recall;
        return { recall, found: foundAt(meansOf(this.#results, depth), asked) };
      }),
    }));
  }

  /** Forgets everything, and overwrites the vectors that wait. */
  clear(): void {
    for (const vector of this.#waiting) vector.fill(0);
    this.#waiting.length = 0;
    this.#results = [];
    this.#next = 0;
    this.#found = undefined;
  }

  /** Limits of another model are other ones. */
  #use(model: Model): void {
    if (this.#model === model) return;
    this.clear();
    this.#model = model;
  }
}

/** What is found at least: the mean of the queries less its standard error, which is what a mean of other queries may differ by. */
function foundBy(results: readonly QueryRecall[]): number[][] {
  return triedDepths.map((_, depth) => {
    const means = meansOf(results, depth);
    let best = 0;
    return means.map((mean, i) => {
      const variance =
        results.reduce((sum, result) => sum + (result[depth][i] - mean) ** 2, 0) / results.length;
      // Larger limits find no less: where a sample says so, it is chance.
      best = Math.max(best, mean - Math.sqrt(variance / results.length));
      return best;
    });
  });
}

function meansOf(results: readonly QueryRecall[], depth: number): number[] {
  return triedRecalls.map(
    (_, i) => results.reduce((sum, result) => sum + result[depth][i], 0) / results.length,
  );
}

/** Where a number of neighbours lies between the tried ones, by logarithm: 0 to 1. */
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
  return between(1 - triedRecalls[enough - 1], 1 - triedRecalls[enough], part);
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

function between(from: number, to: number, part: number): number {
  return from ** (1 - part) * Math.max(to, lossMin) ** part;
}

/** A loss of none, for logarithms: less than can be declared. */
const lossMin = 1e-4;
