/**
 * A fast random rotation: four rounds of random signs, a Walsh-Hadamard transform and, unless the length is a power of two, a
 * Kac walk that mixes the halves. Orthogonal; O(D log D).
 */

/**
 * Rotates n rows of layout (n, d) in place. d is a multiple of 64; `signs` has layout (4, d), each 1 or -1; `span` is the
 * largest power of two up to d.
 */
export function rotate(vectors: usize, n: u32, d: u32, signs: usize, span: u32): void {
  const rowBytes = <usize>d << 2;
  const rest = rowBytes - (<usize>span << 2);
  const scale = f32x4.splat(1 / sqrt<f32>(<f32>span));
  for (let i: u32 = 0; i < n; i++) {
    const row = vectors + <usize>i * rowBytes;
    for (let round: u32 = 0; round < 4; round++) {
      const flips = signs + <usize>round * rowBytes;
      for (let at: usize = 0; at < rowBytes; at += 16) {
        v128.store(row + at, f32x4.mul(v128.load(row + at), v128.load(flips + at)));
      }
      // The transform covers the beginning and the end of the row alternately.
      const part = round & 1 ? row + rest : row;
      hadamard(part, span, scale);
      if (rest) mixHalves(row, rowBytes >> 1);
    }
  }
}

/** Undoes `rotate`, with the same arguments: each step is its own inverse. */
export function rotateBack(vectors: usize, n: u32, d: u32, signs: usize, span: u32): void {
  const rowBytes = <usize>d << 2;
  const rest = rowBytes - (<usize>span << 2);
  const scale = f32x4.splat(1 / sqrt<f32>(<f32>span));
  for (let i: u32 = 0; i < n; i++) {
    const row = vectors + <usize>i * rowBytes;
    for (let round: i32 = 3; round >= 0; round--) {
      if (rest) mixHalves(row, rowBytes >> 1);
      const part = round & 1 ? row + rest : row;
      hadamard(part, span, scale);
      const flips = signs + <usize>round * rowBytes;
      for (let at: usize = 0; at < rowBytes; at += 16) {
        v128.store(row + at, f32x4.mul(v128.load(row + at), v128.load(flips + at)));
      }
    }
  }
}

/** The transform of `length` float32, a power of two from 64 on, times `scale`. */
@inline
function hadamard(at: usize, length: u32, scale: v128): void {
  const bytes = <usize>length << 2;
  let half: usize = 16;
  if (ctz(length) & 1) {
    for (let i: usize = 0; i < bytes; i += 32) {
      const a = v128.load(at + i);
      const b = v128.load(at + i, 16);
      v128.store(at + i, f32x4.add(a, b));
      v128.store(at + i, f32x4.sub(a, b), 16);
    }
    half = 32;
  }
  // Two stages per pass, which halves loads and stores.
  for (; half < bytes; half <<= 2) {
    for (let first: usize = 0; first < bytes; first += half << 2) {
      for (let i = at + first; i < at + first + half; i += 16) {
        const a = v128.load(i);
        const b = v128.load(i + half);
        const c = v128.load(i + 2 * half);
        const d = v128.load(i + 3 * half);
        const plus = f32x4.add(a, b);
        const minus = f32x4.sub(a, b);
        const laterPlus = f32x4.add(c, d);
        const laterMinus = f32x4.sub(c, d);
        v128.store(i, f32x4.add(plus, laterPlus));
        v128.store(i + half, f32x4.add(minus, laterMinus));
        v128.store(i + 2 * half, f32x4.sub(plus, laterPlus));
        v128.store(i + 3 * half, f32x4.sub(minus, laterMinus));
      }
    }
  }
  // The last two stages lie within a register.
  const ones = f32x4(1, -1, 1, -1);
  const pairs = f32x4(1, 1, -1, -1);
  for (let i: usize = 0; i < bytes; i += 16) {
    let x = v128.load(at + i);
    x = f32x4.add(f32x4.mul(x, ones), f32x4.shuffle(x, x, 1, 0, 3, 2));
    x = f32x4.add(f32x4.mul(x, pairs), f32x4.shuffle(x, x, 2, 3, 0, 1));
    v128.store(at + i, f32x4.mul(x, scale));
  }
}

/** (a, b) to (a + b, a - b) / sqrt(2), for each pair across the halves. */
@inline
function mixHalves(row: usize, half: usize): void {
  const scale = f32x4.splat(Math.SQRT1_2 as f32);
  for (let at: usize = 0; at < half; at += 16) {
    const a = v128.load(row + at);
    const b = v128.load(row + at + half);
    v128.store(row + at, f32x4.mul(f32x4.add(a, b), scale));
    v128.store(row + at + half, f32x4.mul(f32x4.sub(a, b), scale));
  }
}
