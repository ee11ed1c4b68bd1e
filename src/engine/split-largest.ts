/** Empty clusters take over halves of the largest ones. */

const step = 2 ** -10;

/**
 * Each cluster of size 0 takes over half of the currently largest one: its centroid becomes a copy, and the two are moved slightly
 * apart. `centroids` has layout (sizes, dimension).
 */
export function splitLargest(centroids: Float32Array, dimension: number, sizes: Uint32Array): void {
  const whole = Array.from(sizes.keys())
    .filter((list) => sizes[list] > 0)
    .sort((a, b) => sizes[b] - sizes[a] || a - b)
    .map((list) => ({ list, size: sizes[list] }));
  // Halves are created in descending order, since the largest is halved first: two queues replace a heap.
  const halves: { list: number; size: number }[] = [];
  let nextWhole = 0;
  let nextHalf = 0;
  let splits = 0;
  sizes.forEach((size, empty) => {
    if (size > 0) return;
    const fromHalves = nextHalf < halves.length && !(whole[nextWhole]?.size >= halves[nextHalf].size);
    const largest = fromHalves ? halves[nextHalf++] : whole[nextWhole++];
    const half = largest.size / 2;
    halves.push({ list: largest.list, size: half }, { list: empty, size: half });
    // Each split is a little wider, so that halves of halves do not coincide.
    const apart = step * (1 + splits++ / sizes.length);
    for (let i = 0; i < dimension; i++) {
      const value = centroids[largest.list * dimension + i];
      const shift = i % 2 === 0 ? apart : -apart;
      centroids[empty * dimension + i] = value * (1 + shift);
      centroids[largest.list * dimension + i] = value * (1 - shift);
    }
  });
}
