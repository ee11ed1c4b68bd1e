/** Exact nearest neighbors, to compare an index with. */

import type { Metric } from "sealdex/core";

/** Distances of equal vectors may differ in the last digits. */
const tolerance = 1e-6;

export class ExactScan {
  readonly #metric: Metric;
  readonly #queries: readonly Float32Array[];
  /** The smallest distances of each query, ascending. */
  readonly #nearest: number[][];
  readonly #topK: number;
  /** Ids that the index found for each query, with their distances once they are known. */
  readonly #found: readonly Map<string, number>[];

  constructor(
    metric: Metric,
    queries: readonly Float32Array[],
    found: readonly (readonly string[])[],
    topK: number,
  ) {
    this.#metric = metric;
    this.#queries = queries;
    this.#nearest = queries.map(() => []);
    this.#topK = topK;
    this.#found = found.map((ids) => new Map(ids.map((id) => [id, Infinity])));
  }

  add(id: string, vector: Float32Array): void {
    for (const [i, query] of this.#queries.entries()) {
      const distance = distanceOf(this.#metric, query, vector);
      if (this.#found[i].has(id)) this.#found[i].set(id, distance);
      const nearest = this.#nearest[i];
      if (nearest.length === this.#topK && distance >= nearest[this.#topK - 1]) continue;
      const place = nearest.findIndex((each) => distance < each);
      nearest.splice(place < 0 ? nearest.length : place, 0, distance);
      if (nearest.length > this.#topK) nearest.pop();
    }
  }

  /** The mean share of the nearest items that the index found. Items at equal distances are as good. */
  get recall(): number {
    const shares = this.#nearest.map((nearest, i) => {
      const last = nearest[nearest.length - 1];
      const limit = last + tolerance * Math.max(1, Math.abs(last));
      const hits = [...this.#found[i].values()].filter((distance) => distance <= limit).length;
      return Math.min(1, hits / nearest.length);
    });
    return shares.reduce((sum, share) => sum + share, 0) / shares.length;
  }
}

function distanceOf(metric: Metric, a: Float32Array, b: Float32Array): number {
  let dot = 0;
  let squaresA = 0;
  let squaresB = 0;
  let squares = 0;
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i];
    squaresA += a[i] * a[i];
    squaresB += b[i] * b[i];
    squares += (a[i] - b[i]) ** 2;
  }
  if (metric !== "cosine") return squares;
  return squaresA === 0 || squaresB === 0 ? 1 : 1 - dot / Math.sqrt(squaresA * squaresB);
}
