/** Percentiles of what happened between two readings of a histogram. */

import type { Histogram } from "./answers.js";

/**
 * In milliseconds, interpolated within a bucket, as Prometheus does. `share`: 0.99 for the 99th percentile. Null if nothing happened
 * in between; the limit of the last bucket if it is beyond.
 */
export function percentileMs(before: Histogram, after: Histogram, share: number): number | null {
  const total = after.count - before.count;
  if (total === 0) return null;
  const wanted = share * total;
  let [lower, below] = [0, 0];
  for (const [i, upper] of after.seconds.entries()) {
    const within = after.counts[i] - (before.counts[i] ?? 0);
    if (within >= wanted) return 1000 * (lower + ((upper - lower) * (wanted - below)) / (within - below));
    [lower, below] = [upper, within];
  }
  return 1000 * lower;
}
