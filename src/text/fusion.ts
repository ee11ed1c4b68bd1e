/** One ranking from two: what words found and what vectors found. */

/** Matches of one side, best first. */
export interface Ranking {
  /** Distinct numbers of rows, of any numbering that both sides share. */
  readonly rows: readonly number[];
  /** Descending; larger is better. A side of distances gives them negated. */
  readonly scores: readonly number[];
}

/**
 * - `automatic`: each side counts as much as it is worth for this index and for this query.
 * - `rank`: reciprocal rank fusion, the sum of weight / (k + rank) over the sides. Default of `k`: 60.
 * - `scores`: the weighted sum of scores, each side's scaled to 0..1 over what it found.
 *
 * `alpha`: the weight of vectors, 0 to 1; words have 1 - alpha. Default 0.5.
 */
export type Fusion =
  | { readonly method: "automatic" }
  | { readonly method: "rank"; readonly k?: number; readonly alpha?: number }
  | { readonly method: "scores"; readonly alpha?: number };

/** What an index has learnt of its two sides; `undefined` until it has. Plain numbers, to be stored as JSON. */
export interface FusionProfile {
  readonly version: 1;
  /** How much vectors are worth beside words, 0 to 1. */
  readonly alpha: number;
}

export interface FusedRow {
  readonly row: number;
  readonly score: number;
}

const defaultK = 60;
const defaultAlpha = 0.5;

/**
 * The rows of both sides, best first; of equal scores the smaller row first. A side that found nothing leaves the other as it
 * is. `profile`: of the index, for `automatic`.
 */
export function fuse(words: Ranking, vectors: Ranking, fusion: Fusion, profile?: FusionProfile): FusedRow[] {
  const scores = new Map<number, number>();
  const add = ({ rows }: Ranking, weight: (i: number) => number) => {
    for (let i = 0; i < rows.length; i++) scores.set(rows[i], (scores.get(rows[i]) ?? 0) + weight(i));
  };
  if (fusion.method === "rank") {
    const { k = defaultK, alpha = defaultAlpha } = fusion;
    add(words, (i) => (1 - alpha) / (k + i + 1));
    add(vectors, (i) => alpha / (k + i + 1));
  } else {
    const alpha =
      fusion.method === "scores" ? (fusion.alpha ?? defaultAlpha) : (profile?.alpha ?? defaultAlpha);
    const scaledWords = scaled(words.scores);
    const scaledVectors = scaled(vectors.scores);
    add(words, (i) => (1 - alpha) * scaledWords[i]);
    add(vectors, (i) => alpha * scaledVectors[i]);
  }
  return [...scores]
    .map(([row, score]) => ({ row, score }))
    .sort((x, y) => y.score - x.score || x.row - y.row);
}

/** Scores as shares of the way from the least to the greatest; all 1 if they are equal. */
function scaled(scores: readonly number[]): number[] {
  const least = scores[scores.length - 1];
  const span = scores[0] - least;
  return scores.map((score) => (span > 0 ? (score - least) / span : 1));
}
