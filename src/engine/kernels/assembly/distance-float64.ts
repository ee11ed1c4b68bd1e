/**
 * The sums of distance.ts over float32 inputs, computed and written in float64: they cannot overflow, and rounding is below
 * d * 2^-52 of the terms' absolute sum. One row at a time, eight terms per iteration.
 */

/** out[i] (n float64) = |query - vectors[i]|^2, in float64 throughout. */
export function squaredL2BlockFloat64(query: usize, vectors: usize, n: u32, d: u32, out: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    store<f64>(out + (<usize>i << 3), sumRow(query, vectors + <usize>i * (<usize>d << 2), d, true));
  }
}

/** out[i] (n float64) = |vectors[i]|, in float64 throughout. */
export function normsFloat64(vectors: usize, n: u32, d: u32, out: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const row = vectors + <usize>i * (<usize>d << 2);
    store<f64>(out + (<usize>i << 3), sqrt<f64>(sumRow(row, row, d, false)));
  }
}

/** The sum over one row of d float32. `squared` is a constant after inlining. */
@inline
export function sumRow(a: usize, b: usize, d: u32, squared: bool): f64 {
  const end = a + (<usize>d << 2);
  let sum0 = f64x2.splat(0);
  let sum1 = f64x2.splat(0);
  let sum2 = f64x2.splat(0);
  let sum3 = f64x2.splat(0);
  while (end - a >= 32) {
    sum0 = addFloat64Terms(sum0, loadPair(a), loadPair(b), squared);
    sum1 = addFloat64Terms(sum1, loadPair(a + 8), loadPair(b + 8), squared);
    sum2 = addFloat64Terms(sum2, loadPair(a + 16), loadPair(b + 16), squared);
    sum3 = addFloat64Terms(sum3, loadPair(a + 24), loadPair(b + 24), squared);
    a += 32;
    b += 32;
  }
  while (end - a >= 8) {
    sum0 = addFloat64Terms(sum0, loadPair(a), loadPair(b), squared);
    a += 8;
    b += 8;
  }
  if (a < end) sum1 = addFloat64Terms(sum1, loadOne(a), loadOne(b), squared);
  const sums = f64x2.add(f64x2.add(sum0, sum1), f64x2.add(sum2, sum3));
  return f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1);
}

/** `sum` + a * b, or + (a - b)^2, lane by lane. `squared` is a constant after inlining. */
@inline
export function addFloat64Terms(sum: v128, a: v128, b: v128, squared: bool): v128 {
  if (!squared) return f64x2.add(sum, f64x2.mul(a, b));
  const difference = f64x2.sub(a, b);
  return f64x2.add(sum, f64x2.mul(difference, difference));
}

/** Two float32 as float64. */
@inline
export function loadPair(offset: usize): v128 {
  return f64x2.promote_low_f32x4(v128.load64_zero(offset));
}

/** One float32 as float64, and zero. */
@inline
function loadOne(offset: usize): v128 {
  return f64x2.promote_low_f32x4(v128.load32_zero(offset));
}
