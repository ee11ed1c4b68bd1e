/** Operations on some lanes of a 128-bit register of four float32. */

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
