/** Positions of values within a threshold: four comparisons at a time, then the set bits of their mask. */

import { loadFirst } from "./lanes";

export function selectBelow(distances: usize, n: u32, threshold: f32, rows: usize): u32 {
  const limit = f32x4.splat(threshold);
  const rest = n & 3;
  const end = n - rest;
  let to = rows;
  for (let row: u32 = 0; row < end; row += 4) {
    const mask = i32x4.bitmask(f32x4.le(v128.load(distances + (<usize>row << 2)), limit));
    to = storeSet(to, mask, row);
  }
  if (rest) {
    const mask = i32x4.bitmask(f32x4.le(loadFirst(distances + (<usize>end << 2), rest), limit));
    to = storeSet(to, mask & ((1 << rest) - 1), end);
  }
  return <u32>((to - rows) >> 2);
}

/** Writes `row` plus the number of each set bit to `to`, ascending; returns the offset after the last. */
@inline
function storeSet(to: usize, mask: i32, row: u32): usize {
  while (mask) {
    store<u32>(to, row + <u32>ctz(mask));
    to += 4;
    mask &= mask - 1;
  }
  return to;
}
