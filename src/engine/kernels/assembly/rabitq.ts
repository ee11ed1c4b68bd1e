/**
 * RaBitQ with one bit per dimension (Gao and Long, SIGMOD 2024), arranged so that one table per query serves every list.
 *
 * For a row o of a list with centroid c and the random rotation P: r = P o - P c, x = sign(r) / sqrt(D), s = <x, r> / |r|.
 * Then |q - o|^2 is estimated as |q - c|^2 + add + scale * <x, P q>, with scale = -2 |r| / s and add = |r|^2 -
 * scale * <x, P c>, computed when the row is stored. The estimate's standard deviation is |q - c| * error.
 */

import { rotate } from "./rotate";

/**
 * RaBitQ codes of n rotated rows, layout (n, d), d a multiple of 4, relative to their rotated `centroid` (d float32). With m, n
 * rounded up to 32: writes `codes`, m * d / 8 bytes as `fastScan` reads them, and `factors`, float32 of layout (3, m): add, scale,
 * error. Both are 0 beyond row n.
 */
export function encodeRabitq(
  rows: usize,
  n: u32,
  d: u32,
  centroid: usize,
  codes: usize,
  factors: usize,
): void {
  const m = (n + 31) & ~31;
  memory.fill(codes, 0, (<usize>m * d) >> 3);
  memory.fill(factors, 0, 12 * <usize>m);
  for (let i: u32 = 0; i < n; i++) {
    encodeRow(rows + <usize>i * (<usize>d << 2), d, centroid, codes, factors, i, m);
  }
}

/** The code of one row, `i` of those that `codes` and `factors` have room for, m, which are zeros at its place. */
export function encodeRow(
  row: usize,
  d: u32,
  centroid: usize,
  codes: usize,
  factors: usize,
  i: u32,
  m: u32,
): void {
  const groups = d >> 2;
  const root = sqrt<f64>(<f64>d);
  const block = codes + <usize>(i >> 5) * (<usize>groups << 4);
  const place = <usize>(((i & 7) << 1) + ((i >> 3) & 1));
  const shift: u32 = i & 16 ? 4 : 0;
  const zero = f64x2.splat(0);
  const minus = f64x2.splat(-0.0);
  let squareSums = zero;
  let absoluteSums = zero;
  let alongSums = zero;
  for (let group: u32 = 0; group < groups; group++) {
    const at = <usize>group << 4;
    const values = v128.load(row + at);
    const centers = v128.load(centroid + at);
    let bits: u32 = 0;
    // Two components at a time, without branches, which half of the signs would mispredict.
    for (let half: u32 = 0; half < 2; half++) {
      const c = half ? upperHalf(centers) : f64x2.promote_low_f32x4(centers);
      const r = f64x2.sub(half ? upperHalf(values) : f64x2.promote_low_f32x4(values), c);
      const positive = f64x2.ge(r, zero);
      squareSums = f64x2.add(squareSums, f64x2.mul(r, r));
      absoluteSums = f64x2.add(absoluteSums, f64x2.abs(r));
      alongSums = f64x2.add(alongSums, v128.xor(c, v128.andnot(minus, positive)));
      bits |= i64x2.bitmask(positive) << (half << 1);
    }
    const to = block + (<usize>group << 4) + place;
    store<u8>(to, <u8>(<u32>load<u8>(to) | (bits << shift)));
  }
  const squares = sumOf(squareSums);
  const absolutes = sumOf(absoluteSums);
  const along = sumOf(alongSums);
  if (absolutes > 0) {
    // <x, r> = absolutes / sqrt(D), so |r| / s = squares * sqrt(D) / absolutes.
    const scale = (-2 * squares * root) / absolutes;
    const cosine = absolutes / (root * sqrt<f64>(squares));
    const spread = sqrt<f64>(max<f64>(0, 1 - cosine * cosine) / (cosine * cosine * (<f64>d - 1)));
    const to = factors + (<usize>i << 2);
    store<f32>(to, <f32>(squares - (scale * along) / root));
    store<f32>(to + (<usize>m << 2), <f32>scale);
    store<f32>(to + (<usize>m << 3), <f32>(2 * sqrt<f64>(squares) * spread));
  }
}

@inline
function upperHalf(floats: v128): v128 {
  return f64x2.promote_low_f32x4(i64x2.shuffle(floats, floats, 1, 1));
}

@inline
function sumOf(doubles: v128): f64 {
  return f64x2.extract_lane(doubles, 0) + f64x2.extract_lane(doubles, 1);
}

/** `rotate`, then `encodeRabitq`. `d` is the rotated dimension, to which `rows` are padded. */
export function rotateAndEncode(
  rows: usize,
  n: u32,
  d: u32,
  signs: usize,
  span: u32,
  centroid: usize,
  codes: usize,
  factors: usize,
): void {
  rotate(rows, n, d, signs, span);
  encodeRabitq(rows, n, d, centroid, codes, factors);
}

/**
 * The `fastScan` table of a rotated query of 4 * `groups` float32: for each group of four components, all signed sums of them (a
 * set bit stands for plus), shifted to start at zero and rounded to equal steps, `entryMax` (at most 255) of them for the widest
 * group. Writes `table`, layout (groups, 16) bytes, and two float32 to `scale`, step and shift, both divided by sqrt(D). The shift
 * makes the mean of all entries zero, as that of the sums is: of rows far from the origin, entries are rounded alike in all groups.
 */
export function buildTable(query: usize, groups: u32, entryMax: u32, table: usize, scale: usize): void {
  let widest: f32 = 0;
  for (let group: u32 = 0; group < groups; group++) {
    const half = absoluteSum(query + (<usize>group << 4));
    widest = max<f32>(widest, half + half);
  }
  const step: f32 = widest > 0 ? widest / <f32>entryMax : 1;
  const perStep = f32x4.splat(1 / step);
  let sums = i32x4.splat(0);
  for (let group: u32 = 0; group < groups; group++) {
    const at = query + (<usize>group << 4);
    const a = load<f32>(at);
    const b = load<f32>(at, 4);
    const half = absoluteSum(at);
    // Entries 4 * i to 4 * i + 3 differ in the signs of the first two components.
    const low = f32x4(half - a - b, half + a - b, half - a + b, half + a + b);
    const c = load<f32>(at, 8);
    const d = load<f32>(at, 12);
    const first = rounded(low, -c - d, perStep);
    const second = rounded(low, c - d, perStep);
    const third = rounded(low, d - c, perStep);
    const fourth = rounded(low, c + d, perStep);
    const firstHalf = i8x16.shuffle(first, second, 0, 4, 8, 12, 16, 20, 24, 28, 0, 0, 0, 0, 0, 0, 0, 0);
    const secondHalf = i8x16.shuffle(third, fourth, 0, 4, 8, 12, 16, 20, 24, 28, 0, 0, 0, 0, 0, 0, 0, 0);
    const to = table + (<usize>group << 4);
    const entries = i64x2.shuffle(firstHalf, secondHalf, 0, 2);
    v128.store(to, entries);
    sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(entries)));
  }
  const root = sqrt<f64>(<f64>groups * 4);
  store<f32>(scale, <f32>(<f64>step / root));
  sums = i32x4.add(sums, i32x4.shuffle(sums, sums, 2, 3, 0, 1));
  const sum = <f64>(i32x4.extract_lane(sums, 0) + i32x4.extract_lane(sums, 1));
  store<f32>(scale, <f32>((-(<f64>step) * sum) / (16 * root)), 4);
}

/**
 * (low + rest) * perStep, rounded, in the lowest byte of each lane: numbers from 2^23 on have no fraction, so adding one rounds.
 */
@inline
function rounded(low: v128, rest: f32, perStep: v128): v128 {
  return f32x4.add(f32x4.mul(f32x4.add(low, f32x4.splat(rest)), perStep), f32x4.splat(12582912));
}

@inline
function absoluteSum(at: usize): f32 {
  const absolute = f32x4.abs(v128.load(at));
  const pairs = f32x4.add(absolute, f32x4.shuffle(absolute, absolute, 2, 3, 0, 1));
  return f32x4.extract_lane(pairs, 0) + f32x4.extract_lane(pairs, 1);
}

/**
 * Estimates the squared distances of the n rows of one list, from their sums of table entries.
 *
 * `base` is |q - c|^2 of the list's centroid c. `step` and `shift` are the table's scale. The lower bound of a row is its estimate minus `epsilon` times
 * its standard deviation, which two independent errors make up: that of the code, and rounding of the table (`rounding`, of
 * <x, P q>). Writes n rounded up to 32 float32 `estimates` and, in place of the `sums`, as many lower bounds.
 */
export function estimateRabitq(
  factors: usize,
  n: u32,
  base: f32,
  step: f32,
  shift: f32,
  rounding: f32,
  epsilon: f32,
  sums: usize,
  estimates: usize,
): void {
  const stride = ((<usize>n + 31) & ~31) << 2;
  const bases = f32x4.splat(base);
  const steps = f32x4.splat(step);
  const shifts = f32x4.splat(shift);
  const roundings = f32x4.splat(rounding * epsilon);
  const spreads = f32x4.splat(sqrt<f32>(base) * epsilon);
  for (let at: usize = 0; at < stride; at += 16) {
    const scale = v128.load(factors + stride + at);
    const constant = v128.load(factors + at);
    const guess = estimated(constant, scale, v128.load(sums + at), bases, steps, shifts);
    v128.store(estimates + at, guess);
    const squares = squaredErrors(v128.load(factors + stride + stride + at), scale, spreads, roundings);
    v128.store(sums + at, f32x4.sub(guess, f32x4.sqrt(squares)));
  }
}

/**
 * Which rows may be within `limit`: those to which `estimateRabitq` gives a lower bound up to it, but for rounding, found without a square root.
 * NaN rules out nothing. Writes their positions, ascending, in place of the `sums`, and returns their number.
 */
export function rabitqWithin(
  factors: usize,
  n: u32,
  base: f32,
  step: f32,
  shift: f32,
  rounding: f32,
  epsilon: f32,
  limit: f32,
  sums: usize,
): u32 {
  const stride = ((<usize>n + 31) & ~31) << 2;
  const steps = f32x4.splat(step);
  const shifts = f32x4.splat(shift);
  const roundings = f32x4.splat(rounding * epsilon);
  const spreads = f32x4.splat(sqrt<f32>(base) * epsilon);
  const bases = f32x4.splat(base);
  const limits = f32x4.splat(limit);
  const zero = f32x4.splat(0);
  let to = sums;
  for (let row: u32 = 0; row < n; row += 4) {
    const at = <usize>row << 2;
    const scale = v128.load(factors + stride + at);
    const constant = v128.load(factors + at);
    const guess = estimated(constant, scale, v128.load(sums + at), bases, steps, shifts);
    const squares = squaredErrors(v128.load(factors + stride + stride + at), scale, spreads, roundings);
    const excess = f32x4.sub(guess, limits);
    const beyond = v128.and(f32x4.gt(excess, zero), f32x4.gt(f32x4.mul(excess, excess), squares));
    to = writePositions(~i32x4.bitmask(beyond) & firstBits(row, n), row, to);
  }
  return <u32>((to - sums) >> 2);
}

/** Estimated squared distances of four rows. `constant` and `scale` are factors of theirs. */
@inline
function estimated(constant: v128, scale: v128, sums: v128, bases: v128, steps: v128, shifts: v128): v128 {
  // Signed: sums are far below 2^31, and processors before AVX-512 take eight instructions for unsigned ones.
  const product = f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(sums), steps), shifts);
  return f32x4.add(f32x4.add(bases, constant), f32x4.mul(scale, product));
}

/** The squared error bounds of estimates. */
@inline
function squaredErrors(error: v128, scale: v128, spreads: v128, roundings: v128): v128 {
  const ofCode = f32x4.mul(spreads, error);
  const ofTable = f32x4.mul(roundings, scale);
  return f32x4.add(f32x4.mul(ofCode, ofCode), f32x4.mul(ofTable, ofTable));
}

// Positions of float32 values that a condition chooses, four values at a time.

/** Writes `first` plus the position of each bit that is set, ascending, and returns where the next goes. */
@inline
export function writePositions(bits: i32, first: u32, to: usize): usize {
  let mask = bits;
  let at = to;
  while (mask) {
    store<u32>(at, first + <u32>ctz(mask));
    at += 4;
    mask &= mask - 1;
  }
  return at;
}

/** Of four positions from `first` on, the bits of those below `n`. */
@inline
export function firstBits(first: u32, n: u32): i32 {
  return first + 4 > n ? (1 << (n - first)) - 1 : 15;
}
