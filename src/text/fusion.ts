/** Fuses the rankings of keyword and vector search. docs/hybrid.md compares the methods. */

/** Matches of one side, best first. */
export interface Ranking {
  /** Distinct row numbers in a numbering that both sides share. */
  readonly rows: readonly number[];
  /** Descending; larger is better. Distances are negated. */
  readonly scores: readonly number[];
}

/**
 * How a hybrid search combines the scores of vectors and words.
 *
 * - `automatic`: the weighted sum of scores, with an `alpha` for each query: the more the sides agree on it, the more vectors
 *   count.
 * - `rank`: reciprocal rank fusion, the sum of weight / (k + rank) over the sides. Default of `k`: 60.
 * - `scores`: the weighted sum of scores, each side's scaled to 0..1 over its results.
 *
 * `alpha`: the weight of vectors, 0 to 1; words have 1 - alpha. Default 0.5.
 */
export type Fusion =
  | { readonly method: "automatic" }
  | { readonly method: "rank"; readonly k?: number; readonly alpha?: number }
  | { readonly method: "scores"; readonly alpha?: number };

/** `meaning`: an embedding model known to match more than wording. `unknown`: all others. */
export type VectorKind = "unknown" | "meaning";

export interface FusedRow {
  readonly row: number;
  readonly score: number;
}

const defaultK = 60;
const defaultAlpha = 0.5;
/** Rows per side that measure agreement. */
const agreementDepth = 10;

/**
 * The rows of both sides, best first. Rows of equal score are in the order of words, then in that of vectors: merges of segments
 * change row numbers, but neither order. A side adds nothing to rows that it lacks.
 */
export function fuse(
  words: Ranking,
  vectors: Ranking,
  fusion: Fusion,
  kind: VectorKind = "unknown",
): FusedRow[] {
  const sums = new Map<number, number>();
  const add = ({ rows }: Ranking, scoreOf: (i: number) => number) => {
    for (let i = 0; i < rows.length; i++) sums.set(rows[i], (sums.get(rows[i]) ?? 0) + scoreOf(i));
  };
  if (fusion.method === "rank") {
    const { k = defaultK, alpha = defaultAlpha } = fusion;
    add(words, (i) => (1 - alpha) / (k + i + 1));
    add(vectors, (i) => alpha / (k + i + 1));
  } else {
    const wordScores = scaled(words.scores);
    const vectorScores = scaled(vectors.scores);
    const alpha =
      fusion.method === "scores"
        ? (fusion.alpha ?? defaultAlpha)
        : automaticAlpha({ rows: words.rows, scores: wordScores }, vectors.rows, kind);
    add(words, (i) => (1 - alpha) * wordScores[i]);
    add(vectors, (i) => alpha * vectorScores[i]);
  }
  return [...sums].map(([row, score]) => ({ row, score })).sort((x, y) => y.score - x.score);
}

/**
 * Vectors of a model that knows meaning weigh at least a quarter, and half if both sides agree.
 * Other vectors weigh only as far as both sides find the same rows, so weak vectors do no harm. The
 * numbers were chosen on the collections of bench/README.md.
 */
function automaticAlpha(words: Ranking, vectorRows: readonly number[], kind: VectorKind): number {
  if (words.rows.length === 0) return 1;
  if (vectorRows.length === 0) return 0;
  const firstOfVectors = vectorRows.slice(0, agreementDepth);
  if (kind === "unknown") {
    const firstOfWords = new Set(words.rows.slice(0, agreementDepth));
    return (0.5 * firstOfVectors.filter((row) => firstOfWords.has(row)).length) / agreementDepth;
  }
  const scoreOf = new Map(words.rows.map((row, i) => [row, words.scores[i]]));
  const agreed = firstOfVectors.reduce((sum, row) => sum + (scoreOf.get(row) ?? 0), 0);
  const best = words.scores.slice(0, agreementDepth).reduce((sum, score) => sum + score, 0);
  return 0.25 + (0.3 * agreed) / best;
}

/** Scales scores to 0..1 between the least and the greatest; all 1 if they are equal. */
function scaled(scores: readonly number[]): number[] {
  const least = scores[scores.length - 1];
  const span = scores[0] - least;
  return scores.map((score) => (span > 0 ? (score - least) / span : 1));
}
