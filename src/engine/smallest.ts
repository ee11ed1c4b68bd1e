/** Selection among a few hundred values, for small k. */

/** Positions of the k smallest values, smallest first; of equal values the first ones. O(n + k^2 log n) if the order is random. */
export function smallest(values: Float32Array, k: number): number[] {
  const kept: number[] = [];
  let worst = Infinity;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (kept.length === k && !(value < worst)) continue;
    let place = kept.length;
    while (place > 0 && values[kept[place - 1]] > value) place--;
    kept.splice(place, 0, i);
    if (kept.length > k) kept.pop();
    worst = values[kept[kept.length - 1]];
  }
  return kept;
}
