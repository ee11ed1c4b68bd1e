/** Rows are compared with a query in groups: what comes of a row does not depend on its group, nor on its place there. */

import { describe, expect, test } from "vitest";
import type { Codec } from "../../src/engine/codes/codec.js";
import { metrics, type Metric, type ScalarPrecision } from "../../src/engine/config.js";
import { flatCodec } from "../../src/engine/codes/flat.js";
import { kernels } from "../../src/engine/kernels/kernels.js";
import { allocate, floatsAt, free } from "../../src/engine/kernels/memory.js";
import { seededRandom } from "../../src/engine/random.js";
import { roundVectors, scalarCodec } from "../../src/engine/codes/scalar.js";
import { rowsOf } from "./oracle.js";
import { scan } from "./scan.js";

const precisions = ["float32", "float16", "int8"] as const;
/** Full groups, and from none to all but one of a group left over. */
const rowCounts = [...Array.from({ length: 18 }, (_, n) => n), 24, 31];
const dimensions = [1, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 33, 70];

function codecOf(precision: (typeof precisions)[number], metric: Metric, dimension: number): Codec {
  return precision === "float32"
    ? flatCodec(metric, dimension, "none")
    : scalarCodec({ metric, precision, dimension }, "none");
}

function rounded(vectors: Float32Array, precision: "float32" | ScalarPrecision, d: number): Float32Array {
  if (precision !== "float32") roundVectors(vectors, precision, d);
  return vectors;
}

/** Rows that come ever nearer to the query, every fifth of them twice. */
function approaching(query: Float32Array, n: number): Float32Array {
  const d = query.length;
  return Float32Array.from({ length: n * d }, (_, at) => {
    const row = Math.floor(at / d);
    const away = row % 5 === 4 ? row - 1 : row;
    const aside = Math.sin(12.9 * (at % d) + 78.2 * away);
    return query[at % d] + (aside * (n - away)) / n;
  });
}

describe.each(precisions)("groups of rows of %s", (precision) => {
  describe.each(metrics)("under %s", (metric) => {
    test.each(dimensions)("give each row the score that it has alone, d = %i", (d) => {
      const random = seededRandom(d);
      for (const magnitude of metric === "cosine" ? [1e-39, 1, 1e33] : [1e-30, 1, 1e14]) {
        const query = Float32Array.from({ length: d }, () => (random() - 0.5) * magnitude);
        const codec = codecOf(precision, metric, d);
        for (const n of rowCounts) {
          const near = approaching(
            query.map((value) => value / magnitude),
            n,
          );
          const vectors = rounded(
            near.map((value) => value * magnitude),
            precision,
            d,
          );
          const alone = rowsOf(vectors, d).map((vector) => scan(codec, metric, query, vector, 1)[0].score);
          const ranked = alone.map((score, row) => ({ row, score }));
          ranked.sort((a, b) => a.score - b.score || a.row - b.row);
          // Nearest last, and nearest first.
          for (const k of [1, 3, n]) {
            if (k > 0) expect(scan(codec, metric, query, vectors, k)).toEqual(ranked.slice(0, k));
          }
          const turned = Float32Array.from(
            rowsOf(vectors, d)
              .toReversed()
              .flatMap((row) => [...row]),
          );
          const scores = ranked.map(({ score }) => score);
          expect(scan(codec, metric, query, turned, Math.max(1, n)).map(({ score }) => score)).toEqual(
            scores,
          );
        }
      }
    });
  });
});

test.each(dimensions)("sums in float32 are those of the block kernels, bit for bit, d = %i", (d) => {
  const random = seededRandom(100 + d);
  const query = Float32Array.from({ length: d }, () => random() - 0.5);
  const codec = flatCodec("euclidean", d, "none");
  for (const n of rowCounts) {
    const vectors = Float32Array.from({ length: n * d }, () => random() - 0.5);
    const at = allocate(4 * (d + n * d + n));
    floatsAt(at, d).set(query);
    floatsAt(at + 4 * d, n * d).set(vectors);
    const sums = at + 4 * (d + n * d);
    for (let row = 0; row < n; row++) {
      kernels().squaredL2Block(at, at + 4 * d * (1 + row), 1, d, sums + 4 * row);
    }
    const expected = Array.from(floatsAt(sums, n));
    const found = scan(codec, "euclidean", query, vectors, Math.max(1, n), true);
    expect(found.toSorted((a, b) => a.row - b.row).map(({ score }) => score)).toEqual(expected);
    free(at);
  }
});
