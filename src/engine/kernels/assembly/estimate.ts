/**
 * Squared distances estimated from codes alone: for each row base + add + scale * sum, `sum` being the sum of the entries of
 * the query's tables that the row's code selects. docs/internals/format.md §6 defines the codes.
 */

import { fastScan, lookUp } from "./fast-scan";

/** The estimate of a row beyond the range of float32. A row is never lost to NaN. */
const farthest: f32 = f32.MAX_VALUE;

/**
 * Estimates n rows whose codes are `groups` nibbles each: layout (floor(n / 32), groups, 16) as `fastScan` reads them, then
 * the remaining n % 32 rows, layout (groups, ceil(n % 32 / 2)), row 2 i of them in the low nibble of byte i, row 2 i + 1 in the
 * high one. Reads up to 15 bytes beyond the codes.
 *
 * `low` and `high` are tables of layout (groups, 16) as `roundTable` writes them with their `step` and `shift`; `high` may be 0
 * (entries of one byte). `factors` is float32 of layout (2, n): add and scale. `references` (n uint32) are the rows' positions in
 * `bases` (`nBases` float32); if `references` is 0, all rows have the base `base`. Writes n float32 `estimates`, from 0 to the largest
 * float32. `sums` is scratch for 2 * m uint32, m being n rounded up to 32.
 */
export function estimateNibbles(
  codes: usize,
  n: u32,
  groups: u32,
  low: usize,
  high: usize,
  step: f32,
  shift: f32,
  factors: usize,
  references: usize,
  bases: usize,
  nBases: u32,
  base: f32,
  sums: usize,
  estimates: usize,
): void {
  sumNibbles(codes, n, groups, low, sums);
  if (high) {
    const highSums = sums + ((<usize>(n + 31) & ~31) << 2);
    sumNibbles(codes, n, groups, high, highSums);
    for (let i: usize = 0; i < <usize>n << 2; i += 16) {
      const upper = i32x4.shl(v128.load(highSums + i), 8);
      v128.store(sums + i, i32x4.add(v128.load(sums + i), upper));
    }
  }
  const scales = factors + (<usize>n << 2);
  const whole: u32 = references ? 0 : n & ~3;
  for (let i: u32 = 0; i < whole; i += 4) {
    const at = <usize>i << 2;
    const words = f32x4.convert_i32x4_u(v128.load(sums + at));
    const product = f32x4.add(f32x4.mul(words, f32x4.splat(step)), f32x4.splat(shift));
    const added = f32x4.add(f32x4.splat(base), v128.load(factors + at));
    const guess = f32x4.add(added, f32x4.mul(v128.load(scales + at), product));
    const limit = f32x4.splat(farthest);
    const near = f32x4.lt(guess, limit);
    v128.store(estimates + at, v128.bitselect(f32x4.max(guess, f32x4.splat(0)), limit, near));
  }
  for (let i = whole; i < n; i++) {
    const at = <usize>i << 2;
    const product = <f32>load<u32>(sums + at) * step + shift;
    const from = references ? baseAt(bases, nBases, load<u32>(references + at)) : base;
    const guess = from + load<f32>(factors + at) + load<f32>(scales + at) * product;
    store<f32>(estimates + at, within(guess));
  }
}

/** The base of a row. Traps unless it is one of the query's: beyond them lie the bytes of other indexes. */
@inline
export function baseAt(bases: usize, nBases: u32, reference: u32): f32 {
  if (reference >= nBases) unreachable();
  return load<f32>(bases + (<usize>reference << 2));
}

/**
 * Estimates n rows whose codes are `subspaces` numbers of `bits` bits each (1 to 16), packed low bits first, `rowBytes` per row.
 * `tables` is float32 of layout (subspaces, stride), a power of two of at most 2^bits, so that no number leads beyond its table; the rest is as in `estimateNibbles`. Reads up to 3 bytes beyond the codes.
 */
export function estimateProducts(
  codes: usize,
  n: u32,
  rowBytes: u32,
  subspaces: u32,
  bits: u32,
  tables: usize,
  stride: u32,
  factors: usize,
  references: usize,
  bases: usize,
  nBases: u32,
  base: f32,
  estimates: usize,
): void {
  const scales = factors + (<usize>n << 2);
  const areBytes = bits == 8 && stride == 256;
  for (let i: u32 = 0; i < n; i++) {
    const at = <usize>i << 2;
    const row = codes + <usize>i * <usize>rowBytes;
    const sum = areBytes ? sumBytes(row, subspaces, tables, stride) : sumBits(row, subspaces, bits, tables, stride);
    const from = references ? baseAt(bases, nBases, load<u32>(references + at)) : base;
    store<f32>(estimates + at, within(from + load<f32>(factors + at) + load<f32>(scales + at) * sum));
  }
}

/** Of tables of 256. Four independent sums, so that no addition waits for the previous one. */
@inline
function sumBytes(row: usize, subspaces: u32, tables: usize, stride: u32): f32 {
  const tableBytes = <usize>stride << 2;
  let a: f32 = 0;
  let b: f32 = 0;
  let c: f32 = 0;
  let d: f32 = 0;
  const whole = row + (subspaces & ~3);
  let table = tables;
  let at = row;
  for (; at < whole; at += 4) {
    const four = load<u32>(at);
    a += load<f32>(table + (<usize>(four & 255) << 2));
    table += tableBytes;
    b += load<f32>(table + (<usize>((four >> 8) & 255) << 2));
    table += tableBytes;
    c += load<f32>(table + (<usize>((four >> 16) & 255) << 2));
    table += tableBytes;
    d += load<f32>(table + (<usize>(four >> 24) << 2));
    table += tableBytes;
  }
  for (const end = row + subspaces; at < end; at++) {
    a += load<f32>(table + (<usize>load<u8>(at) << 2));
    table += tableBytes;
  }
  return a + b + (c + d);
}

@inline
function sumBits(row: usize, subspaces: u32, bits: u32, tables: usize, stride: u32): f32 {
  const tableBytes = <usize>stride << 2;
  const mask: u32 = stride - 1;
  let even: f32 = 0;
  let odd: f32 = 0;
  let table = tables;
  let position: u32 = 0;
  for (let subspace: u32 = 0; subspace < subspaces; subspace++) {
    const word = (load<u32>(row + (position >> 3)) >> (position & 7)) & mask;
    const entry = load<f32>(table + (<usize>word << 2));
    if (subspace & 1) odd += entry;
    else even += entry;
    table += tableBytes;
    position += bits;
  }
  return even + odd;
}

/** Clamped to 0 and the largest float32, which also replaces NaN. */
@inline
function within(estimate: f32): f32 {
  return estimate < farthest ? max<f32>(0, estimate) : farthest;
}

/** Sums of n rows, in their order. Writes n rounded up to 32 of them. */
@inline
function sumNibbles(codes: usize, n: u32, groups: u32, table: usize, sums: usize): void {
  const blocks = n >> 5;
  fastScan(codes, table, blocks, groups, sums);
  const rest = n & 31;
  if (rest) {
    const whole = <usize>blocks * (<usize>groups << 4);
    sumRest(codes + whole, rest, groups, table, sums + (<usize>blocks << 7));
  }
}

const groupsMax: u32 = 256;

/** As a block of `fastScan`, with rows in pairs: byte i of a group's ceil(rows / 2) holds rows 2 i and 2 i + 1. */
function sumRest(codes: usize, rows: u32, groups: u32, table: usize, sums: usize): void {
  const stride = <usize>((rows + 1) >> 1);
  const low4 = i8x16.splat(0x0f);
  memory.fill(sums, 0, 128);
  for (let first: u32 = 0; first < groups; first += groupsMax) {
    // Of rows 4 i, 4 i + 2, 4 i + 1 and 4 i + 3: even bytes' low nibbles, odd bytes' low ones, then high ones.
    let low = i16x8.splat(0);
    let lowOdd = i16x8.splat(0);
    let high = i16x8.splat(0);
    let highOdd = i16x8.splat(0);
    const last = min<u32>(groups, first + groupsMax);
    for (let group = first; group < last; group++) {
      const nibbles = v128.load(codes);
      const entries = v128.load(table);
      const ones = lookUp(entries, v128.and(nibbles, low4));
      const others = lookUp(entries, v128.and(i16x8.shr_u(nibbles, 4), low4));
      low = i16x8.add(low, ones);
      lowOdd = i16x8.add(lowOdd, i16x8.shr_u(ones, 8));
      high = i16x8.add(high, others);
      highOdd = i16x8.add(highOdd, i16x8.shr_u(others, 8));
      codes += stride;
      table += 16;
    }
    low = i16x8.sub(low, i16x8.shl(lowOdd, 8));
    high = i16x8.sub(high, i16x8.shl(highOdd, 8));
    addInterleaved(low, high, lowOdd, highOdd, sums);
  }
}

/** Adds a[i], b[i], c[i], d[i] to the uint32 from 4 i on. */
@inline
function addInterleaved(a: v128, b: v128, c: v128, d: v128, to: usize): void {
  const abLow = i16x8.shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  const abHigh = i16x8.shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  const cdLow = i16x8.shuffle(c, d, 0, 8, 1, 9, 2, 10, 3, 11);
  const cdHigh = i16x8.shuffle(c, d, 4, 12, 5, 13, 6, 14, 7, 15);
  addWords(i32x4.shuffle(abLow, cdLow, 0, 4, 1, 5), to);
  addWords(i32x4.shuffle(abLow, cdLow, 2, 6, 3, 7), to + 32);
  addWords(i32x4.shuffle(abHigh, cdHigh, 0, 4, 1, 5), to + 64);
  addWords(i32x4.shuffle(abHigh, cdHigh, 2, 6, 3, 7), to + 96);
}

@inline
function addWords(sums: v128, to: usize): void {
  v128.store(to, i32x4.add(v128.load(to), i32x4.extend_low_i16x8_u(sums)));
  v128.store(to, i32x4.add(v128.load(to, 16), i32x4.extend_high_i16x8_u(sums)), 16);
}
