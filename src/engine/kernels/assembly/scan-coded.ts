/** The scan of `ivf` and `ivfpq`: rows without vectors, whose scores are the estimates of their codes. */

import { baseAt, estimateNibbles, estimateProducts } from "./estimate";
import { Heap } from "./heap";
import { CodedQuery, needFine } from "./query-tables";
import { isAccepted, Job, offerRow, Query } from "./structs";

/** The codes of a block, as ../../code-layout.ts lays them out. */
@unmanaged
export class RowCodes {
  /** Rows without a reference centroid have number 0 here. */
  codes: usize;
  /** The reference centroid of all rows, unless they `differ`. */
  reference: u32;
  differ: u32;
  /** uint32 positions of the rows without one, which have no direction. */
  undirected: usize;
  nUndirected: u32;
}

/** The squared chord, under cosine, to a vector without direction, whose cosine counts as 0. */
const undirectedSquare: f32 = 2;

/** Offers the rows of a job. */
export function scanCoded(query: Query, heap: Heap, job: Job): void {
  const n = job.block.n;
  query.codesCompared += n;
  const codes = changetype<RowCodes>(job.block.rowCodes);
  const estimates = query.scratch;
  if (query.cosine && query.norm == 0) {
    for (let row: usize = 0; row < <usize>n; row++) store<f32>(estimates + (row << 2), undirectedSquare);
  } else {
    estimate(changetype<CodedQuery>(query.coded), codes, n, job.base, estimates);
    for (let i: usize = 0; i < <usize>codes.nUndirected; i++) {
      store<f32>(estimates + (<usize>load<u32>(codes.undirected + (i << 2)) << 2), undirectedSquare);
    }
  }
  offerEstimates(query, heap, job, estimates);
}

/** Writes estimates of squared distances in list space, followed by scratch for two uint32 per row, all rounded up to 32 rows. */
@inline
function estimate(query: CodedQuery, rows: RowCodes, n: u32, ownBase: f64, estimates: usize): void {
  const isOwn = query.ownLists && ownBase >= 0 && !rows.differ;
  const references = rows.differ ? rows.codes : 0;
  const base = isOwn ? ownBase : rows.differ ? 0 : <f64>baseAt(query.squares, query.nSquares, rows.reference);
  const factors = rows.codes + (<usize>n << 2);
  const codes = rows.codes + 12 * <usize>n;
  if (!query.nibbles) {
    estimateProducts(
      codes,
      n,
      query.rowBytes,
      query.subspaces,
      query.bits,
      query.products,
      query.stride,
      factors,
      references,
      query.squares,
      query.nSquares,
      <f32>base,
      estimates,
    );
    return;
  }
  const isFine = references || !(sqrt<f64>(base) > query.coarseFrom);
  if (isFine) needFine(query);
  estimateNibbles(
    codes,
    n,
    query.nibbles,
    isFine ? query.fine : query.coarse,
    isFine ? query.fine + 16 * <usize>query.nibbles : 0,
    isFine ? query.fineStep : query.coarseStep,
    isFine ? query.fineShift : query.coarseShift,
    factors,
    references,
    query.squares,
    query.nSquares,
    <f32>base,
    estimates + (<usize>((n + 31) & ~31) << 2),
    estimates,
  );
}

// Rows of `ivf` and `ivfpq`, whose scores are their estimates, offered to a heap.

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
