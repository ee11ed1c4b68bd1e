/** For which vectors float32 arithmetic suffices. */

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
