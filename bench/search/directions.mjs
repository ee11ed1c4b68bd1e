// Directions of vectors, which is what cosine compares.

/** The vectors at unit length, in an array of their own; zeros remain zeros. */
export function directions(vectors, dimension) {
  const out = new Float32Array(vectors.length);
  for (let from = 0; from < vectors.length; from += dimension) {
    let square = 0;
    for (let i = from; i < from + dimension; i++) square += vectors[i] ** 2;
    const norm = Math.sqrt(square) || 1;
    for (let i = from; i < from + dimension; i++) out[i] = vectors[i] / norm;
  }
  return out;
}

/** Under cosine, a vector of zeros is equally far from everything: no row is its neighbour. */
export function withoutZeros({ base, queries, dimension, ...data }) {
  return { ...data, dimension, base: directed(base, dimension), queries: directed(queries, dimension) };
}

/** The vectors that have a direction. */
export function directed(vectors, dimension) {
  const out = new Float32Array(vectors.length);
  let at = 0;
  for (let from = 0; from < vectors.length; from += dimension) {
    const vector = vectors.subarray(from, from + dimension);
    if (vector.every((x) => x === 0)) continue;
    out.set(vector, at);
    at += dimension;
  }
  return out.subarray(0, at);
}
