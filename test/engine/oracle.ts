/** What the engine should compute, in scalar float64: slow, plain, and the measure of every kernel. */

export type Numbers = ArrayLike<number>;

export function dot(a: Numbers, b: Numbers): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

export function squaredL2(a: Numbers, b: Numbers): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] - b[i]) ** 2;
  return sum;
}

/** The terms' absolute values added up: what the rounding error of a dot product is relative to. */
export function absoluteDot(a: Numbers, b: Numbers): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += Math.abs(a[i] * b[i]);
  return sum;
}

/** The rows of a matrix of layout (n, d). */
export function rowsOf(matrix: Float32Array, d: number): Float32Array[] {
  return Array.from({ length: matrix.length / d }, (_, i) => matrix.subarray(i * d, (i + 1) * d));
}

/** Position of the smallest value, the first among equals. */
export function smallestPosition(values: Numbers): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] < values[best]) best = i;
  return best;
}
