/**
 * Vectors in fewer bits: each row is its codes, float16 or int8, times a float32 scale of its own. The decoded row is exact in
 * float32, and encodes to the same row again.
 *
 * Up to 16 bytes after the codes are read and ignored.
 */

import { loadFirst, storeFirst } from "./distance";

/** The values of a `precision`; 0 stands for float32, which has no codes. */
export const float16: u32 = 1;
export const int8: u32 = 2;

/** Shifts a float16 to the bits of a float32, which is 2^-112 times its value. */
const exponentShift: i32 = 13;
const float16Mask: i32 = 0x8fffe000;
export const float16Unit: f32 = 5.192296858534828e33;
/** The largest float16 below 2^15. A scaled row stays below that, so that times its scale it stays finite. */
const float16Max: i32 = 0x77ff;

/** Bytes of the codes of a row. */
@inline
export function scalarBytes(d: u32, precision: u32): usize {
  return <usize>d << <usize>(precision == float16);
}

/** Writes the codes of n rows, layout (n, d), and their scales (n float32). */
export function encodeScalar(vectors: usize, n: u32, d: u32, precision: u32, codes: usize, scales: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const row = vectors + <usize>i * (<usize>d << 2);
    const to = codes + <usize>i * scalarBytes(d, precision);
    const largest = largestOf(row, d);
    const scale = precision == int8 ? int8Scale(largest) : float16Scale(largest);
    store<f32>(scales + (<usize>i << 2), scale);
    if (precision == int8) encodeInt8(row, d, scale, to);
    else encodeFloat16(row, d, scale, to);
  }
}

/** The vectors of n rows, layout (n, d). */
export function decodeScalar(codes: usize, scales: usize, n: u32, d: u32, precision: u32, vectors: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const row = codes + <usize>i * scalarBytes(d, precision);
    const to = vectors + <usize>i * (<usize>d << 2);
    const scale = f32x4.splat(load<f32>(scales + (<usize>i << 2)));
    for (let at: u32 = 0; at < d; at += 4) {
      const values = f32x4.mul(precision == int8 ? loadInt8(row + at) : float16Lanes(row + (<usize>at << 1)), scale);
      if (d - at >= 4) v128.store(to + (<usize>at << 2), values);
      else storeFirst(to + (<usize>at << 2), values, d - at);
    }
  }
}

/** Four int8 as float32. */
@inline
function loadInt8(at: usize): v128 {
  const words = i16x8.extend_low_i8x16_s(v128.load32_zero(at));
  return f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(words));
}

/** Four float16 as float32. */
@inline
function float16Lanes(at: usize): v128 {
  return f32x4.mul(float16Bits(v128.load16x4_s(at)), f32x4.splat(float16Unit));
}

/** Float16 in the low halves of four sign-extended words, as float32 of 2^-112 times their value. */
@inline
export function float16Bits(words: v128): v128 {
  return v128.and(i32x4.shl(words, exponentShift), i32x4.splat(float16Mask));
}

function largestOf(row: usize, d: u32): f32 {
  let largest: f32 = 0;
  for (let i: u32 = 0; i < d; i++) largest = max<f32>(largest, abs<f32>(load<f32>(row + (<usize>i << 2))));
  return largest;
}

/**
 * The largest component over 127, rounded towards zero to 16 significant bits: times an int8 it is exact in float32, and times 127
 * it is at most the component. Of tiny rows a power of two, at least the smallest float32.
 */
function int8Scale(largest: f32): f32 {
  const bits = reinterpret<u64>(<f64>largest / 127);
  const scale = <f32>reinterpret<f64>(bits & 0xffffffe000000000);
  // 2^-107, and 2^-149.
  if (scale >= 6.162975822039155e-33 || largest == 0) return scale;
  let power: f64 = 1.401298464324817e-45;
  while (127 * power < <f64>largest) power *= 2;
  return <f32>power;
}

/**
 * The power of two that brings the largest component, rounded, below 2^15 and not below 2^14; at least 2^-125, so that the smallest
 * code stands for the smallest float32; at most 2^113.
 */
function float16Scale(largest: f32): f32 {
  const bits = reinterpret<u64>(<f64>largest);
  // Rounds to 11 significant bits, ties to even, as its code will be.
  const rounded = bits + 0x1ffffffffff + ((bits >> 42) & 1);
  const exponent = <i32>(rounded >> 52) - 1023 - 14;
  return reinterpret<f32>(<u32>(min(113, max(-125, exponent)) + 127) << 23);
}

function encodeInt8(row: usize, d: u32, scale: f32, codes: usize): void {
  if (scale == 0) {
    memory.fill(codes, 0, d);
    return;
  }
  const divisor = f32x4.splat(scale);
  for (let at: u32 = 0; at < d; at += 4) {
    const whole = f32x4.nearest(f32x4.div(loadUpTo(row, at, d), divisor));
    const words = i32x4.trunc_sat_f32x4_s(whole);
    const narrow = i16x8.narrow_i32x4_s(words, words);
    storeUpTo(codes + at, i8x16.narrow_i16x8_s(narrow, narrow), min<u32>(4, d - at));
  }
}

function encodeFloat16(row: usize, d: u32, scale: f32, codes: usize): void {
  const inverse = f32x4.splat(1 / scale);
  const unit = f32x4.splat(1 / float16Unit);
  const one = i32x4.splat(1);
  for (let at: u32 = 0; at < d; at += 4) {
    const bits = f32x4.mul(f32x4.mul(loadUpTo(row, at, d), inverse), unit);
    const magnitude = v128.and(bits, i32x4.splat(0x7fffffff));
    // Rounds to the bits that stay, ties to even.
    const odd = v128.and(i32x4.shr_u(magnitude, exponentShift), one);
    const rounded = i32x4.shr_u(i32x4.add(i32x4.add(magnitude, i32x4.splat(0xfff)), odd), exponentShift);
    const sign = v128.and(i32x4.shr_s(bits, 16), i32x4.splat(0xffff8000));
    const words = v128.or(i32x4.min_s(rounded, i32x4.splat(float16Max)), sign);
    storeUpTo(codes + (<usize>at << 1), i16x8.narrow_i32x4_s(words, words), 2 * min<u32>(4, d - at));
  }
}

/** Components `at` to `at` + 3 of a row of d float32, zeros beyond its end. */
@inline
function loadUpTo(row: usize, at: u32, d: u32): v128 {
  const from = row + (<usize>at << 2);
  return d - at >= 4 ? v128.load(from) : loadFirst(from, d - at);
}

/** Writes the first `count` bytes, up to 8. */
@inline
function storeUpTo(to: usize, bytes: v128, count: u32): void {
  let rest = <u64>i64x2.extract_lane(bytes, 0);
  if (count == 8) store<u64>(to, rest);
  else if (count == 4) store<u32>(to, <u32>rest);
  else
    for (let i: u32 = 0; i < count; i++) {
      store<u8>(to + i, <u8>rest);
      rest >>= 8;
    }
}
