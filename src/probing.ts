/** How much of a trained index a query scans. Nothing of Node.js is used. */

import { invalid, typeName } from "./check-input.js";

/** The share of the nearest items that a query is to find, from 0.8 to 0.999; `"exact"`: all of them. */
export type DeclaredRecall = number | "exact";

export interface ProbingOptions {
  /**
   * The recall that the query needs, in place of `nProbes` and `greedy`: the index scans what training measured that to take, for this
   * `topK` and filter. A trained `ivf` or `ivfpq` compares codes: there it is relative to the recall of a scan of all codes.
   */
  readonly recall?: DeclaredRecall | undefined;
  /**
   * Inverted lists of a trained index to probe, at most: lists that are unlikely to hold a neighbour are skipped. Default 1, as in
   * the specification: the fastest, and it finds least. 0 probes as many lists as training found to be needed for 95 %
   * recall, for this `topK` and filter.
   */
  readonly nProbes?: number;
  /** Goes on past `nProbes` while an unprobed list could still hold a closer item. Default false. */
  readonly greedy?: boolean;
}

const recallMin = 0.8;
const recallMax = 0.999;

/** Throws `invalid_request` unless the recall, if one is declared, is within its range and stands alone. */
export function checkRecall({ recall, nProbes, greedy }: ProbingOptions): void {
  if (recall === undefined) return;
  if (nProbes !== undefined || greedy !== undefined) {
    throw invalid("recall: cannot be combined with nProbes or greedy");
  }
  if (recall === "exact" || (typeof recall === "number" && recall >= recallMin && recall <= recallMax))
    return;
  const received = typeof recall === "number" ? recall : typeName(recall);
  throw invalid(`recall: expected a number from ${recallMin} to ${recallMax}, or "exact", got ${received}`);
}

/** Of the queries of a store: as its options say, by default as the index chooses. */
export function storeProbing(options: ProbingOptions): ProbingOptions {
  checkRecall(options);
  const { recall, nProbes = 0, greedy = false } = options;
  return recall === undefined ? { nProbes, greedy } : { recall };
}
