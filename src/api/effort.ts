/** Options for how much of a trained index a query scans. Uses no Node.js modules. */

import { invalid, typeName } from "../checks/input.js";

/** Share of the nearest items that a query should find, from 0.8 to 0.999, or `"exact"`. */
export type DeclaredRecall = number | "exact";

/** How much of a trained index a query scans. */
export interface ProbingOptions {
  /**
   * Recall of the query; excludes `nProbes` and `greedy`. The index scans as much as training
   * measured to be necessary for this `topK` and filter. A trained `ivf` or `ivfpq` compares codes,
   * so recall is relative to a scan of all codes.
   */
  readonly recall?: DeclaredRecall | undefined;
  /**
   * Maximum number of inverted lists to scan in a trained index; unlikely lists are skipped. With a
   * filter, lists without a match do not count. Default 1, as in the specification: fastest, but with
   * the lowest recall. 0 picks the number for 95 % recall, for this `topK` and filter.
   */
  readonly nProbes?: number | undefined;
  /**
   * Continues after `nProbes` while an unscanned list could contain a closer item. Default false.
   */
  readonly greedy?: boolean | undefined;
}

const recallMin = 0.8;
const recallMax = 0.999;

/** Throws `invalid_request` for a recall out of range, or combined with other options. */
export function checkRecall({ recall, nProbes, greedy }: ProbingOptions): void {
  if (recall === undefined) return;
  if (nProbes !== undefined || greedy !== undefined) {
    throw invalid("recall: cannot be combined with a number of probes or greedy");
  }
  if (recall === "exact" || (typeof recall === "number" && recall >= recallMin && recall <= recallMax))
    return;
  const received = typeof recall === "number" ? recall : typeName(recall);
  throw invalid(`recall: expected a number from ${recallMin} to ${recallMax}, or "exact", got ${received}`);
}

/** Options of a store's queries. Default: the index chooses. */
export function storeProbing(options: ProbingOptions): ProbingOptions {
  checkRecall(options);
  const { recall, nProbes = 0, greedy = false } = options;
  return recall === undefined ? { nProbes, greedy } : { recall };
}
