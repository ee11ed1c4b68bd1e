/** Compares a query with blocks of codes without vectors: the estimates are the distances reported. */

import type { IndexConfig } from "../config.js";
import { kernels } from "../kernels/kernels.js";
import { jobLayout } from "../kernels/kernels.wasm.js";
import { allocate, freeScratch } from "../kernels/memory.js";
import type { CodedModel } from "../model.js";
import { ModelQuantizer, needSquares } from "../codes/model-quantizer.js";
import type { QueryVector } from "../query-vector.js";
import { rowsMax, type ScanJob, type Scanner, writeJobs } from "./scanner.js";

/** A query, prepared for the codes of one model. */
interface Prepared {
  readonly at: number;
  /** Whether it knows the squared distances of the reference centroids. */
  hasSquares: boolean;
}

/**
 * A scanner for one query, which has a rotation. `quantizer` is the one of the index's model and needed during this call only; blocks of an
 * older model get their own, and blocks of vectors need none.
 */
export function codedScanner(config: IndexConfig, query: QueryVector, quantizer: ModelQuantizer): Scanner {
  const allocated: number[] = [];
  const room = (bytes: number) => {
    const at = allocate(bytes);
    allocated.push(at);
    return at;
  };
  const prepare = (of: ModelQuantizer): Prepared => {
    const at = room(of.queryBytes);
    of.prepare(query, at);
    return { at, hasSquares: !of.ownLists };
  };
  const prepared = new Map<CodedModel, Prepared>([[quantizer.model, prepare(quantizer)]]);

  function preparedFor(model: CodedModel): Prepared {
    let known = prepared.get(model);
    if (known === undefined) {
      const created = new ModelQuantizer(config, model);
      known = prepare(created);
      created.free();
      prepared.set(model, known);
    }
    return known;
  }

  /** Lets the kernels scan jobs of one model. */
  function use(model: CodedModel, jobs: readonly ScanJob[]): void {
    const of = preparedFor(model);
    query.coded = of.at;
    if (of.hasSquares || jobs.every(isBased)) return;
    needSquares(model, query, of.at, room);
    of.hasSquares = true;
  }

  return {
    scan(jobs, heap) {
      query.reserve(rowsMax(jobs));
      const at = writeJobs(jobs);
      for (let start = 0; start < jobs.length;) {
        const model = modelOf(jobs[start]);
        let end = start + 1;
        while (end < jobs.length && modelOf(jobs[end]) === model) end++;
        if (model !== undefined) use(model, jobs.slice(start, end));
        kernels().scanFlat(query.address, heap, at + jobLayout.bytes * start, end - start);
        start = end;
      }
      freeScratch(at);
    },
    free() {
      for (const at of allocated) freeScratch(at);
    },
  };
}

function modelOf({ codes }: ScanJob): CodedModel | undefined {
  return codes.kind === "codes" ? codes.model : undefined;
}

/** Whether the distance of its list is that of the reference centroid of all rows, if the lists are the reference centroids. */
function isBased({ codes, distance }: ScanJob): boolean {
  return codes.kind === "codes" && codes.reference !== undefined && distance !== undefined;
}
