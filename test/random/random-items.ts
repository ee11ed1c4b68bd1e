/** Random items and vectors for an index of one dimension. */

import type { Item } from "../../src/core.js";
import type { Choice } from "./choice.js";
import { randomMetadata } from "./documents.js";

const oddIds = [
  "ü".repeat(256),
  "x".repeat(512),
  "\u{1f600}",
  "__proto__",
  "constructor",
  " ",
  "\u0000",
  "ﬀ",
];
/** By which components are multiplied. */
const scales: readonly (readonly number[])[] = [
  [1],
  [1, 0],
  [0.1, 1e-3, 1e3],
  [1e-45, 1e-38, 1e-20],
  [1e12, 1, 1e-12],
  [-0, 0],
];

export class RandomItems {
  readonly dimension: number;
  readonly #choice: Choice;
  readonly #scale: readonly number[];
  /** Of items whose metadata have more paths than columns follow. */
  readonly #largeShare: number;

  constructor(choice: Choice, dimension: number) {
    this.#choice = choice;
    this.dimension = dimension;
    this.#scale = choice.of(scales);
    this.#largeShare = choice.chance(0.1) ? 0.2 : 0.02;
  }

  vector(): number[] {
    const choice = this.#choice;
    return choice.list(this.dimension, () => (choice.below(7) - 3) * choice.of(this.#scale));
  }

  id(): string {
    const choice = this.#choice;
    return choice.chance(0.95) ? `id ${choice.below(80)}` : choice.of(oddIds);
  }

  item(): Item {
    const choice = this.#choice;
    return {
      id: this.id(),
      vector: choice.chance(0.5) ? this.vector() : Float32Array.from(this.vector()),
      ...(choice.chance(0.7) && { metadata: randomMetadata(choice, this.#largeShare) }),
      ...(choice.chance(0.5) && {
        contents: choice.of(["", "text", "\u{1f600}", "x".repeat(choice.below(3000))]),
      }),
    };
  }

  items(): Item[] {
    const choice = this.#choice;
    const items = choice.list(choice.below(choice.of([2, 8, 40])), () => this.item());
    // Ids repeat within one call, and vectors are equal.
    return items.concat(
      items.filter(() => choice.chance(0.1)).map((item) => ({ ...item, contents: "again" })),
    );
  }
}
