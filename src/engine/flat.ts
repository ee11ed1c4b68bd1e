/**
 * Codes of `ivfflat` and of every untrained index: the vector itself, float32 little-endian, layout
 * (n, dimension).
 *
 * A scan runs in float32, with a margin that covers its rounding; rows that pass get their score in float64.
 * So what is selected and returned does not depend on how rows are spread over blocks.
 */

import type { Codec, LoadedCodes, Scanner } from "./codec.js";
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

interface FlatCodes extends LoadedCodes {
  readonly vectors: number;
  /** Euclidean norms of the rows, float64. */
  readonly norms: number;
  /** Whether float32 arithmetic can neither overflow nor lose a difference on these rows. */
  readonly narrow: boolean;
}

// Norms between these keep squares and their sums well inside float32, differences included.
const normMin = 1e-10;
const normMax = 1e15;
const float32Epsilon = 2 ** -24;

export function flatCodec(metric: Metric, dimension: number): Codec<FlatCodes> {
  const rowBytes = 4 * dimension;
  return {
    codeBytes: (n) => n * rowBytes,
    encode: (vectors) => new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength).slice(),
    decode(codes) {
      const vectors = new Float32Array(codes.byteLength / 4);
      new Uint8Array(vectors.buffer).set(codes);
      return vectors;
    },
    load: (codes) => loadFlat(codes, dimension),
    scanner: (query) => flatScanner(metric, dimension, query),
  };
}

function loadFlat(codes: Uint8Array, dimension: number): FlatCodes {
  const n = codes.byteLength / (4 * dimension);
  const bytes = codes.byteLength + 8 * n + 8;
  const vectors = allocate(bytes);
  const norms = Math.ceil((vectors + codes.byteLength) / 8) * 8;
  bytesAt(vectors, codes.byteLength).set(codes);
  normsWide(vectors, n, dimension, norms);
  const narrow = doublesAt(norms, n).every((norm) => norm === 0 || isNarrow(norm));
  return { n, bytes, vectors, norms, narrow, free: () => free(vectors) };
}

function isNarrow(norm: number): boolean {
  return norm >= normMin && norm <= normMax;
}

function flatScanner(metric: Metric, dimension: number, query: Float32Array): Scanner<FlatCodes> {
  const rowBytes = 4 * dimension;
  const queryAt = allocate(rowBytes);
  floatsAt(queryAt, dimension).set(query);
  const scratch = new ScanScratch();
  normsWide(queryAt, 1, dimension, scratch.reserve(1).scores);
  const queryNorm = doublesAt(scratch.scores, 1)[0];
  const queryNarrow = queryNorm === 0 || isNarrow(queryNorm);
  const cosine = metric === "cosine";
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

  return {
    scan: (codes, threshold) =>
      codes.narrow && queryNarrow ? selectNarrow(codes, threshold) : selectWide(codes, threshold),
    get survivors() {
      return wordsAt(scratch.rows, scratch.capacity);
    },
    score: (codes, row) => scoreWide(codes, row, 1)[0],
    free() {
      free(queryAt);
      scratch.free();
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
