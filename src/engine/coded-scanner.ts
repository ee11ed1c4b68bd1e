/** Compares a query with blocks of codes that have no vectors beside them: their estimates are the distances reported. */

import type { LoadedCodes, Scanner, ScanTarget } from "./codec.js";
import { type CodedBlock, isCoded } from "./coded.js";
import type { IndexConfig } from "./config.js";
import { type Bases, selectBelow } from "./kernels/kernels.js";
import { allocate, floatsAt, free, wordsAt } from "./kernels/memory.js";
import { toListSpace } from "./metric.js";
import type { CodedModel } from "./model.js";
import { ModelCoder, squaresOfAnchors } from "./model-coder.js";
import { smallest } from "./smallest.js";
import type { CodedQuery } from "./vector-coder.js";

/** As in flat.ts: beyond so many wanted rows, choosing the most promising ones costs more than it saves. */
const promisingMax = 128;

/** What a query needs of one model. */
interface Prepared {
  readonly query: CodedQuery;
  /** Whether the distance of a list's centroid is that of its rows' anchor. */
  readonly ownLists: boolean;
  /** Squared distances of the anchors, once they were needed. */
  squares: Float32Array | undefined;
  /** Those in kernel memory, or 0. */
  squaresAt: number;
}

/**
 * A scanner for one query. `coder` is that of the index's model and needed only by this call; blocks that another model left
 * behind get one made for them. `flat` scans blocks of vectors; it is taken over.
 */
export function codedScanner(
  config: IndexConfig,
  query: Float32Array,
  coder: ModelCoder,
  flat: Scanner,
): Scanner {
  const cosine = config.metric === "cosine";
  const point = toListSpace(config.metric, query, query.length);
  const undirected = cosine && point.every((value) => value === 0);
  const prepared = new Map<CodedModel, Prepared>([[coder.model, prepare(coder, point)]]);
  const scratch = new EstimateScratch();

  function preparedFor(model: CodedModel): Prepared {
    let known = prepared.get(model);
    if (known === undefined) {
      const made = new ModelCoder(config, model);
      known = prepare(made, point);
      made.free();
      prepared.set(model, known);
    }
    return known;
  }

  function basesOf(codes: CodedBlock, of: Prepared, centroidDistance: number | undefined): Bases {
    if (of.ownLists && centroidDistance !== undefined && codes.anchor !== undefined) {
      return { anchors: 0, bases: 0, base: centroidDistance * centroidDistance };
    }
    of.squares ??= squaresOfAnchors(codes.model, point);
    if (codes.anchor !== undefined) return { anchors: 0, bases: 0, base: of.squares[codes.anchor] };
    if (of.squaresAt === 0) {
      of.squaresAt = allocate(4 * of.squares.length);
      floatsAt(of.squaresAt, of.squares.length).set(of.squares);
    }
    return { anchors: codes.at, bases: of.squaresAt, base: 0 };
  }

  /** Estimates of all rows, at scratch.estimates. */
  function estimate(codes: CodedBlock, centroidDistance: number | undefined): void {
    const { n } = codes;
    scratch.reserve(n);
    const { sums, estimates } = scratch;
    // The squared chord to what has no direction: its cosine counts as 0.
    if (undirected) {
      floatsAt(estimates, n).fill(2);
      return;
    }
    const of = preparedFor(codes.model);
    of.query.estimate(codes.at, n, basesOf(codes, of, centroidDistance), sums, estimates);
    if (codes.nowhere.length === 0) return;
    const values = floatsAt(estimates, n);
    for (const row of codes.nowhere) values[row] = 2;
  }

  function scanCodes(codes: CodedBlock, centroidDistance: number | undefined, target: ScanTarget): void {
    const { n } = codes;
    estimate(codes, centroidDistance);
    const { rows } = scratch;
    const estimates = floatsAt(scratch.estimates, n);
    const score = (row: number) => (cosine ? Math.min(2, estimates[row] / 2) : estimates[row]);
    let nearest: readonly number[] = [];
    if (target.vacancies > 0 && target.vacancies <= promisingMax && target.vacancies < n) {
      nearest = smallest(estimates, target.vacancies);
      for (const row of nearest) target.offer(row, score(row));
    }
    const { threshold } = target;
    // Scores are float32 estimates or halves of them, so comparing in float32 loses nothing.
    const limit = cosine ? (threshold < 2 ? 2 * threshold : Infinity) : threshold;
    const count = selectBelow(scratch.estimates, n, float32Above(limit), rows);
    for (const row of wordsAt(rows, count)) if (!nearest.includes(row)) target.offer(row, score(row));
  }

  return {
    scan(codes: LoadedCodes, centroidDistance, target) {
      if (isCoded(codes)) scanCodes(codes, centroidDistance, target);
      else flat.scan(codes, centroidDistance, target);
    },
    free() {
      for (const { query: asked, squaresAt } of prepared.values()) {
        asked.free();
        if (squaresAt > 0) free(squaresAt);
      }
      scratch.free();
      flat.free();
    },
  };
}

/** The float32 at or just above a float64: thresholds may come from exact scores. */
function float32Above(value: number): number {
  const rounded = Math.fround(value);
  return rounded >= value ? rounded : Math.fround(rounded + Math.abs(rounded) * 2 ** -23);
}

function prepare(coder: ModelCoder, point: Float32Array): Prepared {
  return {
    query: coder.ask(point),
    ownLists: coder.ownLists,
    squares: coder.anchorSquares(point),
    squaresAt: 0,
  };
}

/** Room for sums, estimates and survivors of one block, grown to the largest block met. */
class EstimateScratch {
  capacity = 0;
  sums = 0;
  estimates = 0;
  rows = 0;

  reserve(n: number): void {
    if (n <= this.capacity) return;
    this.free();
    this.capacity = Math.max(256, Math.ceil(n / 32) * 32);
    this.sums = allocate(16 * this.capacity);
    this.estimates = this.sums + 8 * this.capacity;
    this.rows = this.estimates + 4 * this.capacity;
  }

  free(): void {
    if (this.capacity > 0) free(this.sums);
    this.capacity = 0;
  }
}
