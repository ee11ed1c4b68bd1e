/** Positions of float32 values that a condition chooses, four values at a time. */

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
