/**
 * Squared distances of rows that are rounded to 16 bits, which takes a third of the time that float32 takes.
 *
 * A row less a center is scaled to the length 32767, and its components are rounded. By the inequality of Cauchy and Schwarz products add up to
 * less than 2^31. A distance is that of the rounded rows, up to the precision of float32, so that of equal rows is 0.
 */

import { loadFirst, storeFirst, sumRow } from "./distance";

const lengthOfRounded: f64 = 32767;
/** Shorter rows count as zero: their squares are below the range of float32. */
const lengthMin: f64 = 1e-30;

// A rounded row is its scale and its squared length, float64, and its components, int16, padded with zeros to a multiple of eight.
const headBytes: usize = 16;

/** Rows that are rounded and compared with all queries at a time. */
const tileRows: u32 = 24;

@inline
function rowBytes(d: u32): usize {
  return headBytes + ((<usize>d + 7) & ~7) * 2;
}

/** The bytes of n rounded rows. */
export function roundedBytes(n: u32, d: u32): usize {
  return <usize>n * rowBytes(d);
}

/** The bytes of `scratch` of `squaredL2Rounded`. */
export function roundedScratchBytes(d: u32): usize {
  return roundedBytes(tileRows, d);
}

/** Rounds n rows, layout (n, d), less the `center`, d float32. */
export function roundRows(vectors: usize, n: u32, d: u32, center: usize, out: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    roundRow(vectors + ((<usize>i * d) << 2), d, center, out + <usize>i * rowBytes(d));
  }
}

function roundRow(row: usize, d: u32, center: usize, out: usize): void {
  const length = sqrt<f64>(sumRow(row, center, d, true));
  const isZero = !(length > lengthMin);
  const scale = isZero ? 0 : length / lengthOfRounded;
  const factor = f32x4.splat(isZero ? 0 : <f32>(1 / scale));
  let squares = i32x4.splat(0);
  for (let i: u32 = 0; i < d; i += 8) {
    const at = <usize>i << 2;
    const first = roundFour(row + at, center + at, d - i, factor);
    const second = d - i > 4 ? roundFour(row + at + 16, center + at + 16, d - i - 4, factor) : i32x4.splat(0);
    const eight = i16x8.narrow_i32x4_s(first, second);
    v128.store(out + (<usize>i << 1), eight, headBytes);
    squares = i32x4.add(squares, i32x4.dot_i16x8_s(eight, eight));
  }
  store<f64>(out, scale);
  store<f64>(out, scale * scale * <f64>i32x4.extract_lane(sumEachInt(squares, squares, squares, squares), 0), 8);
}

/** Up to four components of a row less the center, times `factor`, as int32; zeros after them. */
@inline
function roundFour(row: usize, center: usize, count: u32, factor: v128): v128 {
  const components = count < 4 ? loadFirst(row, count) : v128.load(row);
  const centers = count < 4 ? loadFirst(center, count) : v128.load(center);
  return i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(factor, f32x4.sub(components, centers))));
}

/**
 * out[i * stride + j] (float32) = |queries[i] - vectors[j]|^2: q rounded queries and n rows, layout (n, d), that are rounded here, with the same
 * center.
 */
export function squaredL2Rounded(
  queries: usize,
  q: u32,
  vectors: usize,
  n: u32,
  d: u32,
  center: usize,
  out: usize,
  stride: u32,
  scratch: usize,
): void {
  const bytes = rowBytes(d);
  for (let tile: u32 = 0; tile < n; tile += tileRows) {
    const rows = min<u32>(tileRows, n - tile);
    roundRows(vectors + ((<usize>tile * d) << 2), rows, d, center, scratch);
    for (let i: u32 = 0; i < q; i += 3) {
      const query1 = min<u32>(i + 1, q - 1);
      const query2 = min<u32>(i + 2, q - 1);
      for (let j: u32 = 0; j < rows; j += 4) {
        compareTwelve(
          queries + <usize>i * bytes,
          queries + <usize>query1 * bytes,
          queries + <usize>query2 * bytes,
          scratch + <usize>j * bytes,
          rows - j,
          bytes,
          out + ((<usize>i * stride + tile + j) << 2),
          out + ((<usize>query1 * stride + tile + j) << 2),
          out + ((<usize>query2 * stride + tile + j) << 2),
        );
      }
    }
  }
}

/** Compares three queries with four rows, of which the last stands in for missing ones. */
@inline
function compareTwelve(
  q0: usize,
  q1: usize,
  q2: usize,
  row0: usize,
  rows: u32,
  bytes: usize,
  out0: usize,
  out1: usize,
  out2: usize,
): void {
  const row1 = row0 + <usize>min<u32>(1, rows - 1) * bytes;
  const row2 = row0 + <usize>min<u32>(2, rows - 1) * bytes;
  const row3 = row0 + <usize>min<u32>(3, rows - 1) * bytes;
  let sum00 = i32x4.splat(0);
  let sum01 = i32x4.splat(0);
  let sum02 = i32x4.splat(0);
  let sum03 = i32x4.splat(0);
  let sum10 = i32x4.splat(0);
  let sum11 = i32x4.splat(0);
  let sum12 = i32x4.splat(0);
  let sum13 = i32x4.splat(0);
  let sum20 = i32x4.splat(0);
  let sum21 = i32x4.splat(0);
  let sum22 = i32x4.splat(0);
  let sum23 = i32x4.splat(0);
  for (let at = headBytes; at < bytes; at += 16) {
    const x0 = v128.load(q0 + at);
    const x1 = v128.load(q1 + at);
    const x2 = v128.load(q2 + at);
    const y0 = v128.load(row0 + at);
    sum00 = i32x4.add(sum00, i32x4.dot_i16x8_s(x0, y0));
    sum10 = i32x4.add(sum10, i32x4.dot_i16x8_s(x1, y0));
    sum20 = i32x4.add(sum20, i32x4.dot_i16x8_s(x2, y0));
    const y1 = v128.load(row1 + at);
    sum01 = i32x4.add(sum01, i32x4.dot_i16x8_s(x0, y1));
    sum11 = i32x4.add(sum11, i32x4.dot_i16x8_s(x1, y1));
    sum21 = i32x4.add(sum21, i32x4.dot_i16x8_s(x2, y1));
    const y2 = v128.load(row2 + at);
    sum02 = i32x4.add(sum02, i32x4.dot_i16x8_s(x0, y2));
    sum12 = i32x4.add(sum12, i32x4.dot_i16x8_s(x1, y2));
    sum22 = i32x4.add(sum22, i32x4.dot_i16x8_s(x2, y2));
    const y3 = v128.load(row3 + at);
    sum03 = i32x4.add(sum03, i32x4.dot_i16x8_s(x0, y3));
    sum13 = i32x4.add(sum13, i32x4.dot_i16x8_s(x1, y3));
    sum23 = i32x4.add(sum23, i32x4.dot_i16x8_s(x2, y3));
  }
  storeSquares(q0, row0, row1, row2, row3, sumEachInt(sum00, sum01, sum02, sum03), rows, out0);
  storeSquares(q1, row0, row1, row2, row3, sumEachInt(sum10, sum11, sum12, sum13), rows, out1);
  storeSquares(q2, row0, row1, row2, row3, sumEachInt(sum20, sum21, sum22, sum23), rows, out2);
}

/** Writes the squared distances of a query from up to four rows, by the products of the rounded ones. */
@inline
function storeSquares(
  query: usize,
  row0: usize,
  row1: usize,
  row2: usize,
  row3: usize,
  products: v128,
  rows: u32,
  out: usize,
): void {
  const low = squaresOf(query, row0, row1, f64x2.convert_low_i32x4_s(products));
  const high = squaresOf(query, row2, row3, f64x2.convert_low_i32x4_s(i32x4.shuffle(products, products, 2, 3, 2, 3)));
  const squares = f32x4.shuffle(f32x4.demote_f64x2_zero(low), f32x4.demote_f64x2_zero(high), 0, 1, 4, 5);
  if (rows >= 4) v128.store(out, squares);
  else storeFirst(out, squares, rows);
}

/** |q|^2 + |x|^2 - 2 <q, x> of two rows x. */
@inline
function squaresOf(query: usize, row0: usize, row1: usize, products: v128): v128 {
  const scales = f64x2.replace_lane(v128.load64_splat(row0), 1, load<f64>(row1));
  const lengths = f64x2.replace_lane(v128.load64_splat(row0, 8), 1, load<f64>(row1, 8));
  const scaled = f64x2.mul(f64x2.mul(v128.load64_splat(query), scales), products);
  const squares = f64x2.sub(f64x2.add(v128.load64_splat(query, 8), lengths), f64x2.add(scaled, scaled));
  return f64x2.max(squares, f64x2.splat(0));
}

/** The sums of the lanes of four registers. */
@inline
function sumEachInt(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(i32x4.shuffle(a, b, 0, 4, 1, 5), i32x4.shuffle(a, b, 2, 6, 3, 7));
  const cd = i32x4.add(i32x4.shuffle(c, d, 0, 4, 1, 5), i32x4.shuffle(c, d, 2, 6, 3, 7));
  return i32x4.add(i32x4.shuffle(ab, cd, 0, 1, 4, 5), i32x4.shuffle(ab, cd, 2, 3, 6, 7));
}
