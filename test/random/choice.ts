/** Random choices from a seed: the same seed makes the same choices. */

import { seededRandom } from "../../src/engine/random.js";

export interface Choice {
  /** In [0, 1). */
  real(): number;
  /** From 0 to n - 1. */
  below(n: number): number;
  chance(probability: number): boolean;
  of<T>(values: readonly T[]): T;
  /** One of the functions' results, each as likely as its weight says. */
  weighted<T>(cases: readonly (readonly [number, () => T])[]): T;
  list<T>(length: number, make: (i: number) => T): T[];
}

export function createChoice(seed: number): Choice {
  const real = seededRandom(seed);
  const below = (n: number) => Math.floor(real() * n);
  return {
    real,
    below,
    chance: (probability) => real() < probability,
    of: (values) => values[below(values.length)],
    weighted(cases) {
      let left = real() * cases.reduce((sum, [weight]) => sum + weight, 0);
      const chosen = cases.find(([weight]) => (left -= weight) < 0) ?? cases[cases.length - 1];
      return chosen[1]();
    },
    list: (length, make) => Array.from({ length }, (_, i) => make(i)),
  };
}
