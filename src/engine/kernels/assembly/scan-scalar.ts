/** The last two tests of a scan of scalar codes: the product with the codes, whose error is known; then the score in float64. */

import { Heap } from "./heap";
import { float16, scalarBytes } from "./scalar";
import { prepareScalar, productsFloat16, productsInt8, sumScalarRow } from "./scalar-sums";
import { clampCosine, Job, offerRow, Query } from "./search";

const float64Epsilon: f64 = 2.220446049250313e-16;

/** Scores the listed rows of a block of scalar codes and offers them. */
export function scoreScalarRows(query: Query, job: Job, heap: Heap, rows: usize, count: u32): void {
  const block = job.block;
  const d = query.dimension;
  const rowBytes = scalarBytes(d, block.precision);
  for (let i: u32 = 0; i < count; i += 4) {
    const last = count - 1 - i;
    const at = rows + (<usize>i << 2);
    const row0 = load<u32>(at);
    const row1 = load<u32>(at + (<usize>min<u32>(1, last) << 2));
    const row2 = load<u32>(at + (<usize>min<u32>(2, last) << 2));
    const row3 = load<u32>(at + (<usize>min<u32>(3, last) << 2));
    const at0 = block.vectors + <usize>row0 * rowBytes;
    const at1 = block.vectors + <usize>row1 * rowBytes;
    const at2 = block.vectors + <usize>row2 * rowBytes;
    const at3 = block.vectors + <usize>row3 * rowBytes;
    const products = scalarProducts(query, at0, at1, at2, at3, block.precision);
    offerIfNear(query, job, heap, row0, f32x4.extract_lane(products, 0));
    if (last >= 1) offerIfNear(query, job, heap, row1, f32x4.extract_lane(products, 1));
    if (last >= 2) offerIfNear(query, job, heap, row2, f32x4.extract_lane(products, 2));
    if (last >= 3) offerIfNear(query, job, heap, row3, f32x4.extract_lane(products, 3));
  }
}

/** The products of four rows of scalar codes with the query, in its `scalarStep` and their scales. */
@inline
export function scalarProducts(query: Query, at0: usize, at1: usize, at2: usize, at3: usize, precision: u32): v128 {
  if (query.scalarPrecision != precision) prepareScalar(query, precision);
  return precision == float16
    ? productsFloat16(query.scalarVector, at0, at1, at2, at3, query.dimension)
    : f32x4.convert_i32x4_s(productsInt8(query.scalarVector, at0, at1, at2, at3, query.dimension));
}

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
