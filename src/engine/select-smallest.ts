/** Selection of the smallest of many values. */

/** A sample of so much fewer values shows which bound many others are below. */
const coarsening = 48;

/**
 * Positions of the `count` smallest finite ones of every `stride`-th value, smallest first; of equal values the first ones. Fewer if there
 * are fewer.
 */
export function nearestPositions(values: Float32Array, stride: number, count: number): Uint32Array {
  const bounded = positionsUpTo(values, stride, likelyBound(values, stride, count));
  const found = bounded.length < count ? positionsUpTo(values, stride, Number.MAX_VALUE) : bounded;
  const own = new Float32Array(found.length);
  for (let i = 0; i < found.length; i++) own[i] = values[found[i]];
  // Sorting numbers is much faster than sorting positions, so few positions are sorted.
  const bound = found.length > count ? own.slice().sort()[count - 1] : Infinity;
  const order: number[] = [];
  for (let i = 0; i < own.length; i++) if (own[i] <= bound) order.push(i);
  order.sort((a, b) => own[a] - own[b] || a - b);
  const nearest = new Uint32Array(Math.min(count, order.length));
  for (let i = 0; i < nearest.length; i++) nearest[i] = found[order[i]];
  return nearest;
}

/** A value that `count` others are probably below. */
function likelyBound(values: Float32Array, stride: number, count: number): number {
  const apart = stride * coarsening;
  const some = new Float32Array(Math.ceil(values.length / apart));
  for (let i = 0; i < some.length; i++) some[i] = values[i * apart];
  const rank = Math.ceil((1.5 * count) / coarsening) + 4;
  return rank < some.length ? Math.min(Number.MAX_VALUE, some.sort()[rank]) : Number.MAX_VALUE;
}

function positionsUpTo(values: Float32Array, stride: number, bound: number): number[] {
  const found: number[] = [];
  for (let i = 0; i < values.length; i += stride) if (values[i] <= bound) found.push(i);
  return found;
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
