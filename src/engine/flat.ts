/**
 * Codes of `ivfflat` and of every untrained index: the vector itself, float32 little-endian, layout
 * (n, dimension). Where rows are grouped by a model's lists, RaBitQ codes follow, which rule most rows out.
 *
 * A scan without them runs in float32, with a margin that covers its rounding. Either way, rows that pass get their score
 * in float64, so scores do not depend on how rows are spread over blocks.
 */

import type { Codec, Grouping, LoadedCodes, Scanner, ScanTarget } from "./codec.js";
import type { CoarseQuantizer } from "./coarse-quantizer.js";
import type { Metric } from "./config.js";
import {
  dotBlock,
  dotBlockWide,
  normsWide,
  selectBelow,
  squaredL2Block,
  squaredL2BlockWide,
} from "./kernels/kernels.js";
import { allocate, bytesAt, doublesAt, floatsAt, free, wordsAt } from "./kernels/memory.js";
import { toListSpace } from "./metric.js";
import { encodeList, rabitqBytes, RabitqQuery } from "./rabitq.js";
import { smallest } from "./smallest.js";

interface FlatCodes extends LoadedCodes {
  readonly vectors: number;
  /** Euclidean norms of the rows, float64. */
  readonly norms: number;
  /** Where the RaBitQ codes lie, or 0. */
  readonly rabitq: number;
  /** Whether float32 arithmetic can neither overflow nor lose a difference on these rows. */
  readonly narrow: boolean;
}

// Norms between these keep squares and their sums well inside float32, differences included.
const normMin = 1e-10;
const normMax = 1e15;
const float32Epsilon = 2 ** -24;
/** Beyond so many wanted rows, choosing the most promising ones costs more than it saves. */
const promisingMax = 128;

export function flatCodec(metric: Metric, dimension: number, grouping: Grouping): Codec<FlatCodes> {
  const rowBytes = 4 * dimension;
  return {
    codeBytes: (n) => n * rowBytes + (grouping === "none" ? 0 : rabitqBytes(n, dimension)),
    *encode(vectors, list) {
      const exact = new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength);
      if (typeof grouping === "string") return exact.slice();
      const codes = yield* encodeList(toListSpace(metric, vectors, dimension), grouping, list);
      return Buffer.concat([exact, codes]);
    },
    decode(codes, n) {
      const vectors = new Float32Array(n * dimension);
      new Uint8Array(vectors.buffer).set(codes.subarray(0, n * rowBytes));
      return vectors;
    },
    load: (codes, n) => loadFlat(codes, n, dimension),
  };
}

function loadFlat(codes: Uint8Array, n: number, dimension: number): FlatCodes {
  const exactBytes = 4 * dimension * n;
  const rabitqLength = codes.byteLength - exactBytes;
  const bytes = codes.byteLength + 8 * n + 16;
  const vectors = allocate(bytes);
  const norms = Math.ceil((vectors + exactBytes) / 8) * 8;
  bytesAt(vectors, exactBytes).set(codes.subarray(0, exactBytes));
  bytesAt(norms + 8 * n, rabitqLength).set(codes.subarray(exactBytes));
  normsWide(vectors, n, dimension, norms);
  const narrow = doublesAt(norms, n).every((norm) => norm === 0 || isNarrow(norm));
  const rabitq = rabitqLength > 0 ? norms + 8 * n : 0;
  return { n, bytes, vectors, norms, rabitq, narrow, free: () => free(vectors) };
}

function isNarrow(norm: number): boolean {
  return norm >= normMin && norm <= normMax;
}

/**
 * A scanner for one query. With a quantizer, lists are pruned by their RaBitQ codes, which now and then loses a row
 * near the threshold; without, no row is lost.
 */
export function flatScanner(
  metric: Metric,
  dimension: number,
  query: Float32Array,
  quantizer: CoarseQuantizer | undefined,
): Scanner<FlatCodes> {
  const rowBytes = 4 * dimension;
  const queryAt = allocate(rowBytes);
  floatsAt(queryAt, dimension).set(query);
  const scratch = new ScanScratch();
  normsWide(queryAt, 1, dimension, scratch.reserve(1).scores);
  const queryNorm = doublesAt(scratch.scores, 1)[0];
  const queryNarrow = queryNorm === 0 || isNarrow(queryNorm);
  const cosine = metric === "cosine";
  const pruning =
    quantizer && queryNarrow ? new RabitqQuery(toListSpace(metric, query, dimension), quantizer) : null;
  // Rounding of a float32 sum of `dimension` terms: relative for squares, which are all positive; for
  // dot products relative to the product of the norms.
  const roundoff = dimension * float32Epsilon;

  /** Scores of rows `from` to `from + n` in float64, at scratch.scores. */
  function scoreWide(codes: FlatCodes, from: number, n: number): Float64Array {
    const { scores } = scratch.reserve(n);
    const vectors = codes.vectors + from * rowBytes;
    if (!cosine) {
      squaredL2BlockWide(queryAt, vectors, n, dimension, scores);
      return doublesAt(scores, n);
    }
    dotBlockWide(queryAt, vectors, n, dimension, scores);
    const products = doublesAt(scores, n);
    const norms = doublesAt(codes.norms, codes.n);
    for (let i = 0; i < n; i++) {
      const scale = queryNorm * norms[from + i];
      // A zero vector has no direction: it counts as orthogonal to everything.
      products[i] = scale === 0 ? 1 : Math.min(2, Math.max(0, 1 - products[i] / scale));
    }
    return products;
  }

  function selectNarrow(codes: FlatCodes, threshold: number): number {
    const { n } = codes;
    const { narrowScores, rows } = scratch.reserve(n);
    if (!cosine) {
      squaredL2Block(queryAt, codes.vectors, n, dimension, narrowScores);
      return selectBelow(narrowScores, n, float32Above(threshold * (1 + roundoff)), rows);
    }
    dotBlock(queryAt, codes.vectors, n, dimension, narrowScores);
    const products = floatsAt(narrowScores, n);
    const norms = doublesAt(codes.norms, n);
    for (let i = 0; i < n; i++) {
      const scale = queryNorm * norms[i];
      products[i] = scale === 0 ? 1 : 1 - products[i] / scale;
    }
    return selectBelow(narrowScores, n, float32Above(threshold + roundoff + float32Epsilon), rows);
  }

  function selectWide(codes: FlatCodes, threshold: number): number {
    const scores = scoreWide(codes, 0, codes.n);
    const rows = wordsAt(scratch.rows, codes.n);
    let count = 0;
    for (let row = 0; row < codes.n; row++) if (scores[row] <= threshold) rows[count++] = row;
    return count;
  }

  function offerRows(codes: FlatCodes, rows: Uint32Array, target: ScanTarget): void {
    for (const row of rows) target.offer(row, scoreWide(codes, row, 1)[0]);
  }

  function scanExact(codes: FlatCodes, target: ScanTarget): void {
    const select = codes.narrow && queryNarrow ? selectNarrow : selectWide;
    const count = select(codes, target.threshold);
    offerRows(codes, wordsAt(scratch.rows, count), target);
  }

  function scanPruned(codes: FlatCodes, distance: number, pruner: RabitqQuery, target: ScanTarget): void {
    const { n } = codes;
    const m = Math.ceil(n / 32) * 32;
    scratch.reserve(2 * m);
    const at = scratch.narrowScores;
    // Squared distance in list space: for cosine, twice the score.
    const squared = (score: number) => float32Above(cosine ? 2 * score : score);
    const estimates = at + 4 * m;
    const rows = at + 8 * m;
    let nearest: readonly number[] = [];
    if (target.vacancies > 0 && target.vacancies <= promisingMax && target.vacancies < n) {
      // With places to fill, the most promising rows go first: then there is a threshold for the others.
      pruner.select(codes.rabitq, n, distance, Infinity, at);
      nearest = smallest(floatsAt(estimates, n), target.vacancies);
      for (const row of nearest) target.offer(row, scoreWide(codes, row, 1)[0]);
    }
    const count = pruner.select(codes.rabitq, n, distance, squared(target.threshold), at);
    for (const row of wordsAt(rows, count)) {
      if (!nearest.includes(row)) target.offer(row, scoreWide(codes, row, 1)[0]);
    }
  }

  return {
    scan(codes, centroidDistance, target) {
      if (pruning !== null && centroidDistance !== undefined && codes.rabitq > 0 && codes.narrow) {
        scanPruned(codes, centroidDistance, pruning, target);
      } else scanExact(codes, target);
    },
    free() {
      free(queryAt);
      scratch.free();
      pruning?.free();
    },
  };
}

/** The float32 at or just above a float64, so that a float32 comparison with it never loses a row. */
function float32Above(value: number): number {
  const rounded = Math.fround(value);
  return rounded >= value ? rounded : Math.fround(value + Math.abs(value) * 2 * float32Epsilon);
}

/** Room for the scores and survivors of one block, grown to the largest block met. */
class ScanScratch {
  capacity = 0;
  scores = 0;
  narrowScores = 0;
  rows = 0;

  reserve(n: number): this {
    if (n > this.capacity) {
      if (this.capacity > 0) free(this.scores);
      this.capacity = Math.max(256, n);
      this.scores = allocate(this.capacity * (8 + 4 + 4));
      this.narrowScores = this.scores + 8 * this.capacity;
      this.rows = this.narrowScores + 4 * this.capacity;
    }
    return this;
  }

  free(): void {
    if (this.capacity > 0) free(this.scores);
    this.capacity = 0;
  }
}
