/**
 * One query against a block of rows, in float32: eight rows at a time with one accumulator each, which shares the loads of the
 * query and lets waits for memory overlap. Rows in the cache take as long four at a time; rows in memory take up to a quarter longer.
 *
 * The remaining rows are compared four at a time, and the last row stands in for missing ones. There is one order of additions, so the
 * result of a row does not depend on its position.
 */

/** out[i] (n float32) = <query, vectors[i]>. */
export function dotBlock(query: usize, vectors: usize, n: u32, d: u32, out: usize): void {
  sumBlock(query, vectors, n, d, out, false);
}

/** out[i] (n float32) = |query - vectors[i]|^2. */
export function squaredL2Block(query: usize, vectors: usize, n: u32, d: u32, out: usize): void {
  sumBlock(query, vectors, n, d, out, true);
}

@inline
function sumBlock(query: usize, vectors: usize, n: u32, d: u32, out: usize, squared: bool): void {
  const rowBytes = <usize>d << 2;
  let i: u32 = 0;
  for (; i + 8 <= n; i += 8) {
    const row0 = vectors + <usize>i * rowBytes;
    const row4 = row0 + 4 * rowBytes;
    const row1 = row0 + rowBytes;
    const row2 = row0 + 2 * rowBytes;
    const row3 = row0 + 3 * rowBytes;
    const row5 = row4 + rowBytes;
    const row6 = row4 + 2 * rowBytes;
    const row7 = row4 + 3 * rowBytes;
    sumEight(query, row0, row1, row2, row3, row4, row5, row6, row7, d, out + (<usize>i << 2), squared);
  }
  for (; i < n; i += 4) {
    const last = n - 1 - i;
    const row0 = vectors + <usize>i * rowBytes;
    const row1 = row0 + <usize>min<u32>(1, last) * rowBytes;
    const row2 = row0 + <usize>min<u32>(2, last) * rowBytes;
    const row3 = row0 + <usize>min<u32>(3, last) * rowBytes;
    const sums = sumFour(query, row0, row1, row2, row3, d, squared);
    const to = out + (<usize>i << 2);
    if (last >= 3) v128.store(to, sums);
    else storeFirst(to, sums, last + 1);
  }
}

/** The sums of a query with four rows of d numbers each, at any addresses. `squared` is a constant after inlining. */
@inline
export function sumFour(
  query: usize,
  row0: usize,
  row1: usize,
  row2: usize,
  row3: usize,
  d: u32,
  squared: bool,
): v128 {
  const rest = d & 3;
  const end = <usize>(d - rest) << 2;
  let sum0 = f32x4.splat(0);
  let sum1 = f32x4.splat(0);
  let sum2 = f32x4.splat(0);
  let sum3 = f32x4.splat(0);
  for (let at: usize = 0; at < end; at += 16) {
    const q = v128.load(query + at);
    sum0 = addTerms(sum0, q, v128.load(row0 + at), squared);
    sum1 = addTerms(sum1, q, v128.load(row1 + at), squared);
    sum2 = addTerms(sum2, q, v128.load(row2 + at), squared);
    sum3 = addTerms(sum3, q, v128.load(row3 + at), squared);
  }
  if (rest) {
    const q = loadFirst(query + end, rest);
    sum0 = addTerms(sum0, q, loadFirst(row0 + end, rest), squared);
    sum1 = addTerms(sum1, q, loadFirst(row1 + end, rest), squared);
    sum2 = addTerms(sum2, q, loadFirst(row2 + end, rest), squared);
    sum3 = addTerms(sum3, q, loadFirst(row3 + end, rest), squared);
  }
  return sumEach(sum0, sum1, sum2, sum3);
}

/** As `sumFour`, of eight rows: writes eight float32 to `sums`. The rows of both are added up in the same order. */
@inline
export function sumEight(
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
  squared: bool,
): void {
  const rest = d & 3;
  const end = <usize>(d - rest) << 2;
  let sum0 = f32x4.splat(0);
  let sum1 = f32x4.splat(0);
  let sum2 = f32x4.splat(0);
  let sum3 = f32x4.splat(0);
  let sum4 = f32x4.splat(0);
  let sum5 = f32x4.splat(0);
  let sum6 = f32x4.splat(0);
  let sum7 = f32x4.splat(0);
  for (let at: usize = 0; at < end; at += 16) {
    const q = v128.load(query + at);
    sum0 = addTerms(sum0, q, v128.load(row0 + at), squared);
    sum1 = addTerms(sum1, q, v128.load(row1 + at), squared);
    sum2 = addTerms(sum2, q, v128.load(row2 + at), squared);
    sum3 = addTerms(sum3, q, v128.load(row3 + at), squared);
    sum4 = addTerms(sum4, q, v128.load(row4 + at), squared);
    sum5 = addTerms(sum5, q, v128.load(row5 + at), squared);
    sum6 = addTerms(sum6, q, v128.load(row6 + at), squared);
    sum7 = addTerms(sum7, q, v128.load(row7 + at), squared);
  }
  if (rest) {
    const q = loadFirst(query + end, rest);
    sum0 = addTerms(sum0, q, loadFirst(row0 + end, rest), squared);
    sum1 = addTerms(sum1, q, loadFirst(row1 + end, rest), squared);
    sum2 = addTerms(sum2, q, loadFirst(row2 + end, rest), squared);
    sum3 = addTerms(sum3, q, loadFirst(row3 + end, rest), squared);
    sum4 = addTerms(sum4, q, loadFirst(row4 + end, rest), squared);
    sum5 = addTerms(sum5, q, loadFirst(row5 + end, rest), squared);
    sum6 = addTerms(sum6, q, loadFirst(row6 + end, rest), squared);
    sum7 = addTerms(sum7, q, loadFirst(row7 + end, rest), squared);
  }
  v128.store(sums, sumEach(sum0, sum1, sum2, sum3));
  v128.store(sums, sumEach(sum4, sum5, sum6, sum7), 16);
}

/** `sum` + a * b, or + (a - b)^2, lane by lane. `squared` is a constant after inlining. */
@inline
function addTerms(sum: v128, a: v128, b: v128, squared: bool): v128 {
  if (!squared) return f32x4.add(sum, f32x4.mul(a, b));
  const difference = f32x4.sub(a, b);
  return f32x4.add(sum, f32x4.mul(difference, difference));
}

// The sums of distance.ts over float32 inputs, computed and written in float64: they cannot overflow, and rounding is below
// d * 2^-52 of the terms' absolute sum. One row at a time, eight terms per iteration.

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

// Operations on some lanes of a 128-bit register of four float32.

/** The 1 to 3 floats at `offset`, zeros after them. Nothing else is read. */
@inline
export function loadFirst(offset: usize, count: u32): v128 {
  if (count == 1) return v128.load32_zero(offset);
  const pair = v128.load64_zero(offset);
  return count == 2 ? pair : f32x4.replace_lane(pair, 2, load<f32>(offset, 8));
}

/** Writes the first 1 to 3 lanes to `offset`. Nothing else is written. */
@inline
export function storeFirst(offset: usize, lanes: v128, count: u32): void {
  store<f32>(offset, f32x4.extract_lane(lanes, 0));
  if (count > 1) store<f32>(offset, f32x4.extract_lane(lanes, 1), 4);
  if (count > 2) store<f32>(offset, f32x4.extract_lane(lanes, 2), 8);
}

/** The sums of the lanes of four registers, each added in the order (0 + 2) + (1 + 3). */
@inline
export function sumEach(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = f32x4.add(f32x4.shuffle(a, b, 0, 4, 1, 5), f32x4.shuffle(a, b, 2, 6, 3, 7));
  const cd = f32x4.add(f32x4.shuffle(c, d, 0, 4, 1, 5), f32x4.shuffle(c, d, 2, 6, 3, 7));
  return f32x4.add(f32x4.shuffle(ab, cd, 0, 1, 4, 5), f32x4.shuffle(ab, cd, 2, 3, 6, 7));
}

// For which vectors float32 arithmetic suffices.

// Norms between these keep squares and their sums well inside float32, differences included.
const normMin: f64 = 1e-10;
const normMax: f64 = 1e15;

/** 1 if float32 arithmetic can neither overflow nor lose a difference on vectors with these `norms` (n float64), else 0. */
export function fitsFloat32(norms: usize, n: u32): u32 {
  for (let i: u32 = 0; i < n; i++) {
    const norm = load<f64>(norms + (<usize>i << 3));
    if (norm != 0 && !(norm >= normMin && norm <= normMax)) return 0;
  }
  return 1;
}
