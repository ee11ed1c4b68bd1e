/** One query in kernel memory, prepared for comparisons with rows. */

import type { Metric } from "./config.js";
import { kernels } from "./kernels/kernels.js";
import { queryLayout } from "./kernels/kernels.wasm.js";
import { allocate, allWords, floatsAt, free } from "./kernels/memory.js";
import type { Rotation } from "./rotation.js";

/** Of one of two records that follow one another. */
const recordBytes = nextMultipleOf16(queryLayout.bytes);

/** RaBitQ's error parameter: how many standard deviations an estimate may be off before a row is wrongly pruned. */
const epsilon = 2.2;
/** The same for lists: a missed list is one of the farthest, and another takes its place. */
const listEpsilon = 1.2;

/** Holds kernel memory: call `free` when done. */
export class QueryVector {
  readonly dimension: number;
  /** The address of the record that kernels take. */
  readonly record: number;
  /** The same for the query in list space (see metric.ts). Needs a rotation. */
  readonly listRecord: number;
  #scratch = 0;
  #scratchRows = 0;

  /** `vector` has the dimension of the rows. With the `rotation` of a model, rows can be pruned by their codes. */
  constructor(metric: Metric, vector: Float32Array, rotation: Rotation | undefined) {
    const { length } = vector;
    this.dimension = length;
    const rotated = rotation?.rotated ?? 0;
    // Two records; the vector, in list space, rotated; the table, 16 bytes per four components.
    this.record = allocate(2 * recordBytes + 8 * length + 8 * rotated + 48);
    this.listRecord = this.record + recordBytes;
    const at = this.record + 2 * recordBytes;
    const point = nextMultipleOf16(at + 4 * length);
    const rotatedAt = nextMultipleOf16(point + 4 * length);
    floatsAt(at, length).set(vector);
    const words = allWords();
    words.fill(0, this.record >>> 2, at >>> 2);
    words[(this.record + queryLayout.vector) >>> 2] = at;
    words[(this.record + queryLayout.dimension) >>> 2] = length;
    words[(this.record + queryLayout.cosine) >>> 2] = metric === "cosine" ? 1 : 0;
    kernels().measureQuery(this.record);
    if (rotation === undefined) return;
    words[(this.record + queryLayout.table) >>> 2] = rotatedAt + 4 * rotated;
    floatsAt(this.record + queryLayout.epsilon, 1)[0] = epsilon;
    rotation.prepare(this.record, point, rotatedAt);
    words.copyWithin(this.listRecord >>> 2, this.record >>> 2, this.listRecord >>> 2);
    words[(this.listRecord + queryLayout.vector) >>> 2] = point;
    words[(this.listRecord + queryLayout.cosine) >>> 2] = 0;
    // Lists are ordered, not reported.
    words[(this.listRecord + queryLayout.rankOnly) >>> 2] = 1;
    floatsAt(this.listRecord + queryLayout.epsilon, 1)[0] = listEpsilon;
    kernels().measureQuery(this.listRecord);
  }

  /** Allocates scratch for scanning blocks of up to `rows` rows. */
  reserve(rows: number): void {
    if (rows <= this.#scratchRows) return;
    if (this.#scratch > 0) free(this.#scratch);
    this.#scratchRows = Math.ceil(Math.max(256, rows) / 32) * 32;
    this.#scratch = allocate(12 * this.#scratchRows);
    const words = allWords();
    for (const record of [this.record, this.listRecord])
      words[(record + queryLayout.scratch) >>> 2] = this.#scratch;
  }

  /** The address of `IdTable` records of newer segments, newest first. */
  set newerIdTables(at: number) {
    allWords()[(this.record + queryLayout.newerIdTables) >>> 2] = at;
  }

  free(): void {
    if (this.#scratch > 0) free(this.#scratch);
    free(this.record);
  }
}

function nextMultipleOf16(offset: number): number {
  return Math.ceil(offset / 16) * 16;
}
