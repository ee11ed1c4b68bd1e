/** One query in kernel memory, prepared so that comparing it with rows costs as little as it can. */

import type { Metric } from "./config.js";
import { measureQuery } from "./kernels/kernels.js";
import { allocate, allWords, floatsAt, free } from "./kernels/memory.js";
import type { Rotation } from "./rotation.js";

/** Bytes of a query's record, and where the fields lie that are filled in here; assembly/search.ts has them all. */
const recordBytes = 64;
const field = {
  vector: 0,
  dimension: 4,
  cosine: 8,
  table: 16,
  scratch: 24,
  newer: 28,
  deviations: 52,
  rough: 56,
} as const;

/** Standard deviations that an estimate may be off before a row is wrongly ruled out. */
const deviations = 2.2;
/** The same for lists: one that is missed is one of the farthest, and another takes its place. */
const listDeviations = 1.2;

/** Holds kernel memory: call `free` when done. */
export class QueryVector {
  readonly dimension: number;
  /** Where the record lies that kernels take. */
  readonly record: number;
  /** The same of the query in list space, where nearness is L2 (see metric.ts). Needs a rotation. */
  readonly listRecord: number;
  #scratch = 0;
  #scratchRows = 0;

  /** `vector` has as many numbers as the rows. With the `rotation` of a model, rows can be pruned by their codes. */
  constructor(metric: Metric, vector: Float32Array, rotation: Rotation | undefined) {
    const { length } = vector;
    this.dimension = length;
    const rotated = rotation?.rotated ?? 0;
    // Two records, the vector, then in list space, then rotated, and the table: 16 bytes for four components.
    this.record = allocate(2 * recordBytes + 8 * length + 8 * rotated + 48);
    this.listRecord = this.record + recordBytes;
    const at = this.record + 2 * recordBytes;
    const point = nextMultipleOf16(at + 4 * length);
    const rotatedAt = nextMultipleOf16(point + 4 * length);
    floatsAt(at, length).set(vector);
    const words = allWords();
    words.fill(0, this.record >>> 2, at >>> 2);
    words[(this.record + field.vector) >>> 2] = at;
    words[(this.record + field.dimension) >>> 2] = length;
    words[(this.record + field.cosine) >>> 2] = metric === "cosine" ? 1 : 0;
    measureQuery(this.record);
    if (rotation === undefined) return;
    words[(this.record + field.table) >>> 2] = rotatedAt + 4 * rotated;
    floatsAt(this.record + field.deviations, 1)[0] = deviations;
    rotation.prepare(this.record, point, rotatedAt);
    words.copyWithin(this.listRecord >>> 2, this.record >>> 2, this.listRecord >>> 2);
    words[(this.listRecord + field.vector) >>> 2] = point;
    words[(this.listRecord + field.cosine) >>> 2] = 0;
    // Lists are ordered, not reported.
    words[(this.listRecord + field.rough) >>> 2] = 1;
    floatsAt(this.listRecord + field.deviations, 1)[0] = listDeviations;
    measureQuery(this.listRecord);
  }

  /** Makes room for scanning blocks of up to `rows` rows. */
  reserve(rows: number): void {
    if (rows <= this.#scratchRows) return;
    if (this.#scratch > 0) free(this.#scratch);
    this.#scratchRows = Math.ceil(Math.max(256, rows) / 32) * 32;
    this.#scratch = allocate(12 * this.#scratchRows);
    const words = allWords();
    for (const record of [this.record, this.listRecord])
      words[(record + field.scratch) >>> 2] = this.#scratch;
  }

  /** Where the table of newer id tables lies: pairs of words, where its entries are and how many. */
  set newer(at: number) {
    allWords()[(this.record + field.newer) >>> 2] = at;
  }

  free(): void {
    if (this.#scratch > 0) free(this.#scratch);
    free(this.record);
  }
}

function nextMultipleOf16(offset: number): number {
  return Math.ceil(offset / 16) * 16;
}
