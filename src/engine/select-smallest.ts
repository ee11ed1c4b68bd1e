/** Selection of the smallest of many values. */

/**
 * Positions of the `count` smallest finite ones of every `stride`-th value, smallest first; of equal values the first ones. Fewer if there
 * are fewer. By insertion sort, for small counts.
 */
export function nearestPositions(values: Float32Array, stride: number, count: number): Uint32Array {
  const nearest = new Uint32Array(count);
  const own = new Float32Array(count);
  let found = 0;
  let bound = Infinity;
  for (let i = 0; i < values.length; i += stride) {
    const value = values[i];
    if (!(value < bound)) continue;
    let at = found < count ? found++ : count - 1;
    for (; at > 0 && own[at - 1] > value; at--) {
      own[at] = own[at - 1];
      nearest[at] = nearest[at - 1];
    }
    own[at] = value;
    nearest[at] = i;
    if (found === count) bound = own[count - 1];
  }
  return nearest.subarray(0, found);
}

/** Positions of the `count` smallest finite values, ascending; of equal values the first ones. Fewer if there are fewer. By sorting, for large counts. */
export function positionsOfSmallest(values: Float32Array, count: number): number[] {
  const sorted = values.filter((value) => value < Infinity).sort();
  const bound = sorted[Math.min(count, sorted.length) - 1];
  // For values that equal the bound.
  let room = count - countBelow(sorted, bound);
  const positions: number[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value < bound || (value === bound && room-- > 0)) positions.push(i);
  }
  return positions;
}

/** Of equal ones the first. */
export function positionOfLeast(values: Float32Array): number {
  let least = 0;
  for (let i = 1; i < values.length; i++) if (values[i] < values[least]) least = i;
  return least;
}

/** How many of ascending values are below `value`. */
export function countBelow(sorted: Float32Array, value: number): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (sorted[middle] < value) from = middle + 1;
    else to = middle;
  }
  return from;
}
