/** Compares a query with blocks of codes without vectors: the estimates are the distances reported. */

import type { LoadedRowCodes } from "./codec.js";
import type { IndexConfig } from "./config.js";
import { kernels } from "./kernels/kernels.js";
import { jobLayout } from "./kernels/kernels.wasm.js";
import { allocate, floatsAt, free } from "./kernels/memory.js";
import { toListSpace } from "./metric.js";
import type { CodedModel } from "./model.js";
import { ModelQuantizer, squaresOfReferences } from "./model-quantizer.js";
import type { QueryVector } from "./query-vector.js";
import { writeJobs, type Scanner } from "./scanner.js";
import type { Bases, EstimateBuffers, QuantizedQuery } from "./quantizer.js";

/** A query, prepared for the codes of one model. */
interface Prepared {
  readonly query: QuantizedQuery;
  /** Whether the centroids of the lists are the reference centroids. */
  readonly ownLists: boolean;
  /** Squared distances of the reference centroids, computed when first needed. */
  squares: Float32Array | undefined;
  /** Their address in kernel memory, or 0. */
  squaresAt: number;
}

/**
 * A scanner for one query, `vector`, prepared as `query`. `quantizer` is the one of the index's model and needed during this call
 * only; blocks of an older model get their own. `flat` scans blocks of vectors, and is freed with this scanner.
 */
export function codedScanner(
  config: IndexConfig,
  query: QueryVector,
  vector: Float32Array,
  quantizer: ModelQuantizer,
  flat: Scanner,
): Scanner {
  const point = toListSpace(config.metric, vector, vector.length);
  const undirected = config.metric === "cosine" && point.every((value) => value === 0);
  const prepared = new Map<CodedModel, Prepared>([[quantizer.model, prepare(quantizer, point)]]);
  const scratch = new EstimateScratch();

  function preparedFor(model: CodedModel): Prepared {
    let known = prepared.get(model);
    if (known === undefined) {
      const created = new ModelQuantizer(config, model);
      known = prepare(created, point);
      created.free();
      prepared.set(model, known);
    }
    return known;
  }

  function basesOf(codes: LoadedRowCodes, of: Prepared, centroidDistance: number | undefined): Bases {
    if (of.ownLists && centroidDistance !== undefined && codes.reference !== undefined) {
      return { references: 0, bases: 0, base: centroidDistance * centroidDistance };
    }
    of.squares ??= squaresOfReferences(codes.model, point);
    if (codes.reference !== undefined) return { references: 0, bases: 0, base: of.squares[codes.reference] };
    if (of.squaresAt === 0) {
      of.squaresAt = allocate(4 * of.squares.length);
      floatsAt(of.squaresAt, of.squares.length).set(of.squares);
    }
    return { references: codes.at, bases: of.squaresAt, base: 0 };
  }

  /** Estimates of all rows, at scratch.estimates. */
  function estimate(codes: LoadedRowCodes, centroidDistance: number | undefined): void {
    const { n } = codes;
    scratch.reserve(n);
    const { estimates } = scratch;
    // The squared chord to a vector without a direction: its cosine counts as 0.
    if (undirected) {
      floatsAt(estimates, n).fill(2);
      return;
    }
    const of = preparedFor(codes.model);
    of.query.estimate(codes.at, n, basesOf(codes, of, centroidDistance), scratch);
    if (codes.noCentroid.length === 0) return;
    const values = floatsAt(estimates, n);
    for (const row of codes.noCentroid) values[row] = 2;
  }

  return {
    scan(jobs, heap) {
      const vectors = jobs.filter(({ codes }) => codes.kind !== "codes");
      if (vectors.length > 0) flat.scan(vectors, heap);
      const at = writeJobs(jobs);
      jobs.forEach(({ codes, distance }, i) => {
        if (codes.kind !== "codes") return;
        estimate(codes, distance);
        kernels().offerEstimates(query.address, heap, at + jobLayout.bytes * i, scratch.estimates);
      });
      free(at);
    },
    free() {
      for (const { query: ofQuery, squaresAt } of prepared.values()) {
        ofQuery.free();
        if (squaresAt > 0) free(squaresAt);
      }
      scratch.free();
      flat.free();
    },
  };
}

function prepare(quantizer: ModelQuantizer, point: Float32Array): Prepared {
  return {
    query: quantizer.ask(point),
    ownLists: quantizer.ownLists,
    squares: quantizer.referenceSquares(point),
    squaresAt: 0,
  };
}

/** Room for the sums and estimates of one block, as large as the largest block so far. */
class EstimateScratch implements EstimateBuffers {
  capacity = 0;
  sums = 0;
  estimates = 0;

  reserve(n: number): void {
    if (n <= this.capacity) return;
    this.free();
    this.capacity = Math.max(256, Math.ceil(n / 32) * 32);
    this.sums = allocate(12 * this.capacity);
    this.estimates = this.sums + 8 * this.capacity;
  }

  free(): void {
    if (this.capacity > 0) free(this.sums);
    this.capacity = 0;
  }
}
