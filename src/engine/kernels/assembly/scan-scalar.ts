/** The last two tests of a scan of scalar codes: the product with the codes, whose error is known; then the score in float64. */

import { Heap } from "./heap";
import { float16, scalarBytes } from "./scalar";
import { sumScalarRow } from "./scalar-sums";
import { clampCosine, Job, offerRow, Query } from "./structs";

const float64Epsilon: f64 = 2.220446049250313e-16;

/** Scores a row in float64 and offers it, unless its product rules it out. */
@inline
export function offerIfNear(query: Query, job: Job, heap: Heap, row: u32, product: f32): void {
  const norm = load<f64>(job.block.norms + (<usize>row << 3));
  const near = <f64>product * query.scalarStep * <f64>load<f32>(job.block.scales + (<usize>row << 2));
  const scale = query.norm * norm;
  if (query.cosine) {
    if ((scale == 0 ? 1 : 1 - near / scale) > heap.threshold + query.scalarSlack) return;
  } else {
    const both = query.norm + norm;
    const slack = 2 * query.scalarSlack * scale + 8 * float64Epsilon * both * both;
    if (query.norm * query.norm + norm * norm - 2 * near - slack > heap.threshold) return;
  }
  scoreRow(query, job, heap, row);
}

function scoreRow(query: Query, job: Job, heap: Heap, row: u32): void {
  const block = job.block;
  const d = query.dimension;
  const codes = block.vectors + <usize>row * scalarBytes(d, block.precision);
  const scale = <f64>load<f32>(block.scales + (<usize>row << 2));
  const score = query.cosine
    ? clampCosine(query.norm * load<f64>(block.norms + (<usize>row << 3)), sum(query, codes, scale, false, block.precision))
    : sum(query, codes, scale, true, block.precision);
  offerRow(query, job, heap, row, score);
}

@inline
function sum(query: Query, codes: usize, scale: f64, squared: bool, precision: u32): f64 {
  return precision == float16
    ? sumScalarRow(query.vector, codes, scale, query.dimension, squared, 1)
    : sumScalarRow(query.vector, codes, scale, query.dimension, squared, 2);
}
