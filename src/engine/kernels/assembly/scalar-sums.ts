/**
 * Products and distances of a query and rows of scalar codes. Products in integers or float32 come first, with a known error; then
 * sums in float64, which equal those of distance-float64.ts over the decoded rows, bit for bit.
 */

import { addFloat64Terms, loadPair } from "./distance-float64";
import { sumEach } from "./lanes";
import { float16, float16Bits, float16Unit, int8 } from "./scalar";
import { Query } from "./search";

const float64Epsilon: f64 = 2.220446049250313e-16;
const float32Epsilon: f64 = 5.9604644775390625e-8;

/**
 * Prepares a query for products with rows of a precision, in the room at `query.scalarVector`: for int8 as 16-bit integers so small
 * that no sum overflows, for float16 as float32 times a power of two. Zeros follow, so that a row may be read beyond its end.
 */
export function prepareScalar(query: Query, precision: u32): void {
  const d = query.dimension;
  const from = query.vector;
  const to = query.scalarVector;
  let largest: f64 = 0;
  for (let i: u32 = 0; i < d; i++) largest = max<f64>(largest, abs<f64>(<f64>load<f32>(from + (<usize>i << 2))));
  if (precision == int8) {
    const most = min<u32>(32767, 0x7fffffff / (127 * d));
    const step = largest / most;
    let errors: f64 = 0;
    for (let i: u32 = 0; i < d; i++) {
      const value = <f64>load<f32>(from + (<usize>i << 2));
      const whole = step > 0 ? nearest<f64>(value / step) : 0;
      const error = value - whole * step;
      errors += error * error;
      store<i16>(to + (<usize>i << 1), <i16>whole);
    }
    memory.fill(to + (<usize>d << 1), 0, 16);
    query.scalarStep = step;
    // Sums are rounded once, to float32.
    query.scalarSlack = (query.norm > 0 ? sqrt<f64>(errors) / query.norm : 0) + 2 * float32Epsilon;
  } else {
    // A power of two that brings the largest component near 2^112, which undoes the factor of the rows' bits.
    const power = reinterpret<f64>(reinterpret<u64>(largest) & 0x7ff0000000000000);
    const factor = power > 0 ? <f64>float16Unit / power : 0;
    for (let i: u32 = 0; i < d; i++) store<f32>(to + (<usize>i << 2), <f32>(<f64>load<f32>(from + (<usize>i << 2)) * factor));
    memory.fill(to + (<usize>d << 2), 0, 16);
    query.scalarStep = power;
    // Four sums of d / 4 terms each, and what they are made of, relative to the product of the norms.
    query.scalarSlack = <f64>((d >> 2) + 8) * 2 * float32Epsilon;
  }
  query.scalarSlack += <f64>(d + 8) * 4 * float64Epsilon;
  query.scalarPrecision = precision;
}

/** Products of a prepared query with four rows of int8, as float32. Times `scalarStep` and the row's scale they are near the true ones. */
@inline
export function productsInt8(query: usize, row0: usize, row1: usize, row2: usize, row3: usize, d: u32): v128 {
  let sum0 = i32x4.splat(0);
  let sum1 = i32x4.splat(0);
  let sum2 = i32x4.splat(0);
  let sum3 = i32x4.splat(0);
  for (let at: usize = 0; at < d; at += 8) {
    const q = v128.load(query + (at << 1));
    sum0 = i32x4.add(sum0, i32x4.dot_i16x8_s(q, v128.load8x8_s(row0 + at)));
    sum1 = i32x4.add(sum1, i32x4.dot_i16x8_s(q, v128.load8x8_s(row1 + at)));
    sum2 = i32x4.add(sum2, i32x4.dot_i16x8_s(q, v128.load8x8_s(row2 + at)));
    sum3 = i32x4.add(sum3, i32x4.dot_i16x8_s(q, v128.load8x8_s(row3 + at)));
  }
  const sums01 = i32x4.add(i32x4.shuffle(sum0, sum1, 0, 4, 1, 5), i32x4.shuffle(sum0, sum1, 2, 6, 3, 7));
  const sums23 = i32x4.add(i32x4.shuffle(sum2, sum3, 0, 4, 1, 5), i32x4.shuffle(sum2, sum3, 2, 6, 3, 7));
  const sums = i32x4.add(i32x4.shuffle(sums01, sums23, 0, 1, 4, 5), i32x4.shuffle(sums01, sums23, 2, 3, 6, 7));
  return f32x4.convert_i32x4_s(sums);
}

/** Products of a prepared query with four rows of float16, as float32. */
@inline
export function productsFloat16(query: usize, row0: usize, row1: usize, row2: usize, row3: usize, d: u32): v128 {
  let sum0 = f32x4.splat(0);
  let sum1 = f32x4.splat(0);
  let sum2 = f32x4.splat(0);
  let sum3 = f32x4.splat(0);
  const end = <usize>d << 1;
  for (let at: usize = 0; at < end; at += 8) {
    const q = v128.load(query + (at << 1));
    sum0 = f32x4.add(sum0, f32x4.mul(q, float16Bits(v128.load16x4_s(row0 + at))));
    sum1 = f32x4.add(sum1, f32x4.mul(q, float16Bits(v128.load16x4_s(row1 + at))));
    sum2 = f32x4.add(sum2, f32x4.mul(q, float16Bits(v128.load16x4_s(row2 + at))));
    sum3 = f32x4.add(sum3, f32x4.mul(q, float16Bits(v128.load16x4_s(row3 + at))));
  }
  return sumEach(sum0, sum1, sum2, sum3);
}

/** As `productsFloat16`, of eight rows: writes eight float32 to `sums`. */
@inline
export function eightProductsFloat16(
  query: usize,
  row0: usize,
  row1: usize,
  row2: usize,
  row3: usize,
  row4: usize,
  row5: usize,
  row6: usize,
  row7: usize,
  d: u32,
  sums: usize,
): void {
  const end = <usize>d << 1;
  let sum0 = f32x4.splat(0);
  let sum1 = f32x4.splat(0);
  let sum2 = f32x4.splat(0);
  let sum3 = f32x4.splat(0);
  let sum4 = f32x4.splat(0);
  let sum5 = f32x4.splat(0);
  let sum6 = f32x4.splat(0);
  let sum7 = f32x4.splat(0);
  for (let at: usize = 0; at < end; at += 8) {
    const q = v128.load(query + (at << 1));
    sum0 = f32x4.add(sum0, f32x4.mul(q, float16Bits(v128.load16x4_s(row0 + at))));
    sum1 = f32x4.add(sum1, f32x4.mul(q, float16Bits(v128.load16x4_s(row1 + at))));
    sum2 = f32x4.add(sum2, f32x4.mul(q, float16Bits(v128.load16x4_s(row2 + at))));
    sum3 = f32x4.add(sum3, f32x4.mul(q, float16Bits(v128.load16x4_s(row3 + at))));
    sum4 = f32x4.add(sum4, f32x4.mul(q, float16Bits(v128.load16x4_s(row4 + at))));
    sum5 = f32x4.add(sum5, f32x4.mul(q, float16Bits(v128.load16x4_s(row5 + at))));
    sum6 = f32x4.add(sum6, f32x4.mul(q, float16Bits(v128.load16x4_s(row6 + at))));
    sum7 = f32x4.add(sum7, f32x4.mul(q, float16Bits(v128.load16x4_s(row7 + at))));
  }
  v128.store(sums, sumEach(sum0, sum1, sum2, sum3));
  v128.store(sums, sumEach(sum4, sum5, sum6, sum7), 16);
}

/** <a, row>, or |a - row|^2, in float64. `squared` and `precision` are constants after inlining. */
@inline
export function sumScalarRow(a: usize, row: usize, scale: f64, d: u32, squared: bool, precision: u32): f64 {
  const end = a + (<usize>d << 2);
  const step: usize = precision == float16 ? 4 : 2;
  let sum0 = f64x2.splat(0);
  let sum1 = f64x2.splat(0);
  let sum2 = f64x2.splat(0);
  let sum3 = f64x2.splat(0);
  // A float16 is shifted to 2^-112 times its value.
  const factor = f64x2.splat(precision == float16 ? scale * float16Unit : scale);
  while (end - a >= 32) {
    const low = wordsOf(row, precision);
    const high = wordsOf(row + 2 * step, precision);
    sum0 = addFloat64Terms(sum0, loadPair(a), lowPair(low, factor, precision), squared);
    sum1 = addFloat64Terms(sum1, loadPair(a + 8), highPair(low, factor, precision), squared);
    sum2 = addFloat64Terms(sum2, loadPair(a + 16), lowPair(high, factor, precision), squared);
    sum3 = addFloat64Terms(sum3, loadPair(a + 24), highPair(high, factor, precision), squared);
    a += 32;
    row += 4 * step;
  }
  while (end - a >= 8) {
    sum0 = addFloat64Terms(sum0, loadPair(a), lowPair(wordsOf(row, precision), factor, precision), squared);
    a += 8;
    row += step;
  }
  if (a < end) {
    const one = f64x2.replace_lane(lowPair(wordsOf(row, precision), factor, precision), 1, 0);
    sum1 = addFloat64Terms(sum1, f64x2.promote_low_f32x4(v128.load32_zero(a)), one, squared);
  }
  const sums = f64x2.add(f64x2.add(sum0, sum1), f64x2.add(sum2, sum3));
  return f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1);
}

/** Four codes: int8 as int32, float16 as float32 of 2^-112 times their value. */
@inline
function wordsOf(at: usize, precision: u32): v128 {
  if (precision == float16) return float16Bits(v128.load16x4_s(at));
  return i32x4.extend_low_i16x8_s(i16x8.extend_low_i8x16_s(v128.load32_zero(at)));
}

@inline
function lowPair(words: v128, factor: v128, precision: u32): v128 {
  return f64x2.mul(precision == float16 ? f64x2.promote_low_f32x4(words) : f64x2.convert_low_i32x4_s(words), factor);
}

@inline
function highPair(words: v128, factor: v128, precision: u32): v128 {
  return lowPair(i64x2.shuffle(words, words, 1, 1), factor, precision);
}
