/** Converts distances to LangChain's scores in [0, 1], with 1 for a perfect match. */

import type { Metric } from "../engine/config.js";

/** cosine 1 - d/2, euclidean 1/(1+d), squared_euclidean 1/(1+sqrt(d)). */
export function scoreOf(metric: Metric, distance: number): number {
  const score =
    metric === "cosine"
      ? 1 - distance / 2
      : 1 / (1 + (metric === "euclidean" ? distance : Math.sqrt(distance)));
  return Math.min(1, Math.max(0, score));
}
