/** What an index is to its callers, in the plainest way: a Map, and brute force in float64. */

import type { IndexConfigInput, Item, Metric } from "../../src/core.js";
import type { Metadata } from "./documents.js";

export interface PlainItem {
  readonly id: string;
  readonly vector: Float32Array;
  readonly contents?: string;
  readonly metadata: Metadata;
}

/** Rows up to which an index answers a filter by comparing all that match. */
const comparedMax = 2048;

export class PlainIndex {
  readonly config: IndexConfigInput;
  readonly metric: Metric;
  readonly items = new Map<string, PlainItem>();
  /** Undefined until the first vector determines it. */
  dimension: number | undefined;
  trained = false;
  #written = 0;

  constructor(config: IndexConfigInput, metric: Metric) {
    this.config = config;
    this.metric = metric;
    this.dimension = config.dimension;
  }

  /** Whether distances are exact and vectors are kept. */
  get isExact(): boolean {
    return this.config.type === "ivfflat" || !this.trained;
  }

  /** Whether every filter is answered by comparing all rows that match: those that newer ones replaced count, too. */
  get comparesMatches(): boolean {
    return this.#written <= comparedMax;
  }

  /** An index without items, or with zero vectors alone under cosine, stays as it is. */
  train(): void {
    const hasDirection = ({ vector }: PlainItem) => this.metric !== "cosine" || vector.some((x) => x !== 0);
    if ([...this.items.values()].some(hasDirection)) this.trained = true;
  }

  upsert(items: readonly Item[]): void {
    this.#written += items.length;
    for (const { id, vector = [], contents, metadata = {} } of items) {
      this.dimension ??= vector.length;
      const stored = {
        id,
        vector: Float32Array.from(vector),
        metadata: JSON.parse(JSON.stringify(metadata)) as Metadata,
      };
      this.items.set(id, typeof contents === "string" ? { ...stored, contents } : stored);
    }
  }

  matching(matches: (metadata: Metadata) => boolean): PlainItem[] {
    return [...this.items.values()].filter(({ metadata }) => matches(metadata));
  }

  ids(): string[] {
    return [...this.items.keys()].sort();
  }

  distance(a: Float32Array, b: Float32Array): number {
    let squares = 0;
    let product = 0;
    let lengthA = 0;
    let lengthB = 0;
    for (let i = 0; i < a.length; i++) {
      squares += (a[i] - b[i]) ** 2;
      product += a[i] * b[i];
      lengthA += a[i] ** 2;
      lengthB += b[i] ** 2;
    }
    if (this.metric === "squared_euclidean") return squares;
    if (this.metric === "euclidean") return Math.sqrt(squares);
    const scale = Math.sqrt(lengthA) * Math.sqrt(lengthB);
    return scale === 0 ? 1 : Math.min(2, Math.max(0, 1 - product / scale));
  }
}
