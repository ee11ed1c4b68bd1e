/**
 * The rows of one segment with the greatest sums of term scores: MaxScore (Turtle and Flood, 1995) with bounds per block (Ding and
 * Suel, 2011). A term whose greatest possible score, with those of all weaker terms, does not reach the k-th best row found so
 * far is looked up only in rows that have a stronger term; blocks that cannot reach it are not decoded.
 */

import type { LengthNorm } from "./bm25.js";
import { endOfRows, type PostingCursor } from "./posting-cursor.js";

export interface WeightedCursor {
  readonly cursor: PostingCursor;
  /** Positive. */
  readonly weight: number;
}

/** The rows of a segment. */
interface ScoredRows {
  /** Passed to the heap. */
  readonly segment: number;
  readonly lengths: Uint32Array;
  /** Of equal scores, the row with the smaller key comes first. */
  readonly ties: Uint32Array;
  /** Rows that may be found, as bits; undefined: all. */
  readonly accepted: Uint32Array | undefined;
  readonly norm: LengthNorm;
}

/** Sums in another order differ by less than this share. */
const roundingMax = 1 + 1e-9;

export class MaxScoreScan {
  readonly #rows: ScoredRows;
  readonly #best: BestRows;
  /** By ascending bound. */
  readonly #cursors: readonly PostingCursor[];
  readonly #weights: Float64Array;
  /** Sum of the greatest possible scores of the cursors up to each one. */
  readonly #sums: Float64Array;
  /** The greatest possible score of all cursors but each one. */
  readonly #others: Float64Array;
  /** The position in which each cursor was given. */
  readonly #places: Uint32Array;
  /** By these positions, the scores of the present row. */
  readonly #parts: Float64Array;
  /** Rows that only have cursors before this one are not looked at. */
  #firstEssential = 0;

  constructor(weighted: readonly WeightedCursor[], rows: ScoredRows, best: BestRows) {
    const n = weighted.length;
    this.#rows = rows;
    this.#best = best;
    const bounds = weighted.map(
      ({ cursor, weight }) =>
        scoreBound(weight, cursor.list.frequencyMax, cursor.list.lengthMin, rows.norm) * roundingMax,
    );
    const order = Array.from(weighted.keys()).sort((a, b) => bounds[a] - bounds[b]);
    this.#cursors = order.map((i) => weighted[i].cursor);
    this.#weights = Float64Array.from(order, (i) => weighted[i].weight);
    this.#places = Uint32Array.from(order);
    this.#parts = new Float64Array(n);
    const total = bounds.reduce((sum, bound) => sum + bound, 0);
    this.#others = Float64Array.from(order, (i) => total - bounds[i]);
    let sum = 0;
    this.#sums = Float64Array.from(order, (i) => (sum += bounds[i]));
    this.#raise();
  }

  /** Scores the rows below `end`. Returns whether there are more. */
  scan(end: number): boolean {
    const { lengths, ties, accepted, segment, norm } = this.#rows;
    const cursors = this.#cursors;
    const weights = this.#weights;
    const parts = this.#parts;
    const places = this.#places;
    const best = this.#best;
    const n = cursors.length;
    for (;;) {
      let row = endOfRows;
      for (let i = this.#firstEssential; i < n; i++) {
        const cursor = cursors[i];
        if (cursor.isUndecoded) this.#enter(i);
        if (cursor.row < row) row = cursor.row;
      }
      if (row >= end) return row !== endOfRows;
      const isAccepted = accepted === undefined || ((accepted[row >>> 5] >>> (row & 31)) & 1) === 1;
      const rowNorm = norm.base + norm.perLength * lengths[row];
      let score = 0;
      for (let i = this.#firstEssential; i < n; i++) {
        const cursor = cursors[i];
        let part = 0;
        if (cursor.row === row) {
          part = (weights[i] * cursor.frequency) / (cursor.frequency + rowNorm);
          cursor.next();
        }
        parts[places[i]] = part;
        score += part;
      }
      if (!isAccepted) continue;
      let i = this.#firstEssential - 1;
      for (; i >= 0 && score + this.#sums[i] >= best.threshold; i--) {
        const cursor = cursors[i];
        cursor.advance(row);
        const part = cursor.row === row ? (weights[i] * cursor.frequency) / (cursor.frequency + rowNorm) : 0;
        parts[places[i]] = part;
        score += part;
      }
      if (i >= 0) continue;
      // In the order of the query, so that equal rows have equal scores wherever they are.
      let total = 0;
      for (let place = 0; place < n; place++) total += parts[place];
      if (total < best.threshold) continue;
      best.offer(total, ties[row], segment, row);
      this.#raise();
    }
  }

  /** Decodes the block of cursor i, or a later one if rows of this one cannot be good enough. */
  #enter(i: number): void {
    const cursor = this.#cursors[i];
    const weight = this.#weights[i];
    while (cursor.isUndecoded) {
      const bound = scoreBound(weight, cursor.frequencyMax, cursor.lengthMin, this.#rows.norm);
      if (bound * roundingMax + this.#others[i] < this.#best.threshold) cursor.skipBlock();
      else cursor.decode();
    }
  }

  /** Adapts to the heap's threshold. */
  #raise(): void {
    const { threshold } = this.#best;
    while (this.#firstEssential < this.#sums.length && this.#sums[this.#firstEssential] < threshold) {
      this.#firstEssential++;
    }
  }
}

/** No row of a block scores more. */
function scoreBound(
  weight: number,
  frequencyMax: number,
  lengthMin: number,
  { base, perLength }: LengthNorm,
): number {
  return (weight * frequencyMax) / (frequencyMax + base + perLength * lengthMin);
}

/** The k rows of greatest score, in a heap whose root is the worst of them. Of equal scores the smaller tie key is the better. */
export class BestRows {
  /** No smaller score can still enter: -Infinity until there are k rows. */
  threshold: number;
  #size = 0;
  readonly #capacity: number;
  readonly #scores: Float64Array;
  readonly #ties: Uint32Array;
  readonly #segments: Uint32Array;
  readonly #rows: Uint32Array;

  /** `capacity`: k, 0 or more. */
  constructor(capacity: number) {
    this.#capacity = capacity;
    this.threshold = capacity === 0 ? Infinity : -Infinity;
    this.#scores = new Float64Array(capacity);
    this.#ties = new Uint32Array(capacity);
    this.#segments = new Uint32Array(capacity);
    this.#rows = new Uint32Array(capacity);
  }

  offer(score: number, tie: number, segment: number, row: number): void {
    if (this.#size < this.#capacity) {
      this.#rise(this.#size++, score, tie, segment, row);
    } else {
      if (this.#capacity === 0 || !this.#isWorse(0, score, tie)) return;
      this.#sink(score, tie, segment, row);
    }
    if (this.#size === this.#capacity) this.threshold = this.#scores[0];
  }

  /** The rows, best first. */
  finish(): { readonly score: number; readonly segment: number; readonly row: number }[] {
    const order = Array.from({ length: this.#size }, (_, i) => i);
    order.sort((a, b) => this.#scores[b] - this.#scores[a] || this.#ties[a] - this.#ties[b]);
    return order.map((i) => ({
      score: this.#scores[i],
      segment: this.#segments[i],
      row: this.#rows[i],
    }));
  }

  /** Whether entry i is worse than a row with this score and tie key. */
  #isWorse(i: number, score: number, tie: number): boolean {
    return this.#scores[i] < score || (this.#scores[i] === score && this.#ties[i] > tie);
  }

  #put(i: number, score: number, tie: number, segment: number, row: number): void {
    this.#scores[i] = score;
    this.#ties[i] = tie;
    this.#segments[i] = segment;
    this.#rows[i] = row;
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#scores[from], this.#ties[from], this.#segments[from], this.#rows[from]);
  }

  #rise(from: number, score: number, tie: number, segment: number, row: number): void {
    let i = from;
    while (i > 0) {
      const parent = (i - 1) >>> 1;
      // Parents are worse than their children.
      if (this.#isWorse(parent, score, tie)) break;
      this.#move(parent, i);
      i = parent;
    }
    this.#put(i, score, tie, segment, row);
  }

  #sink(score: number, tie: number, segment: number, row: number): void {
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= this.#size) break;
      if (child + 1 < this.#size && this.#isWorse(child + 1, this.#scores[child], this.#ties[child])) {
        child++;
      }
      if (!this.#isWorse(child, score, tie)) break;
      this.#move(child, i);
      i = child;
    }
    this.#put(i, score, tie, segment, row);
  }
}
