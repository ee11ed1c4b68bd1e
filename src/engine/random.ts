/** Seeded pseudo-random numbers (splitmix32 by Steele, Lea and Flood): the same seed gives the same training. */

/** A source of numbers in [0, 1) with 32 random bits. Not for keys. */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = state ^ (state >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z ^= z >>> 15;
    z = Math.imul(z, 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** Normally distributed numbers (Box and Muller, 1958). */
export function gaussian(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** `count` distinct positions out of `n` (count <= n), ascending: Floyd's sampling. */
export function samplePositions(random: () => number, n: number, count: number): Uint32Array {
  const chosen = new Set<number>();
  for (let j = n - count; j < n; j++) {
    const t = Math.floor(random() * (j + 1));
    chosen.add(chosen.has(t) ? j : t);
  }
  return Uint32Array.from(chosen).sort();
}
