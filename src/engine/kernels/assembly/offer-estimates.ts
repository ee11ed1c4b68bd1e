/** Rows of `ivf` and `ivfpq`, whose scores are their estimates, offered to a heap. */

import { Heap } from "./heap";
import { isAccepted, Job, offerRow, Query } from "./search";

/**
 * Offers the rows of a job with their `estimates`: n float32 of squared distances in list space (under cosine twice the score),
 * readable up to n rounded up to 4.
 */
export function offerEstimates(query: Query, heap: Heap, job: Job, estimates: usize): void {
  const n = job.block.n;
  for (let i: u32 = 0; i < n; i += 4) {
    const values = v128.load(estimates + (<usize>i << 2));
    // Estimates are float32 and scores at most halves of them, so comparing in float32 loses nothing.
    const limit = f32x4.splat(highestEstimate(query, heap));
    let mask = i32x4.bitmask(f32x4.le(values, limit));
    if (i + 4 > n) mask &= (1 << (n - i)) - 1;
    while (mask) {
      const row = i + <u32>ctz(mask);
      mask &= mask - 1;
      if (!isAccepted(job, row)) continue;
      const estimate = <f64>load<f32>(estimates + (<usize>row << 2));
      offerRow(query, job, heap, row, query.cosine ? min<f64>(2, estimate / 2) : estimate);
    }
  }
}

/** The float32 at or just above the highest estimate that may still enter. */
@inline
function highestEstimate(query: Query, heap: Heap): f32 {
  // An estimated score above 2 counts as 2 under cosine.
  const limit = query.cosine ? (heap.threshold < 2 ? 2 * heap.threshold : Infinity) : heap.threshold;
  const rounded = <f32>limit;
  return <f64>rounded >= limit ? rounded : <f32>(limit + abs<f64>(limit) * 1.1920928955078125e-7);
}
