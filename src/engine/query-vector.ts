/** One query in kernel memory, prepared for comparisons with rows. */

import type { Metric } from "./config.js";
import { kernels } from "./kernels/kernels.js";
import { queryLayout } from "./kernels/kernels.wasm.js";
import { allocate, allWords, floatsAt, freeScratch } from "./kernels/memory.js";
import type { Rotation } from "./rotation.js";

/** Of one of two structs that follow one another. */
const structBytes = nextMultipleOf16(queryLayout.bytes);

/** RaBitQ's error parameter: how many standard deviations an estimate may be off before a row is wrongly pruned. */
const epsilon = 2.2;
/** The same for lists: a missed list is one of the farthest, and another takes its place. */
const listEpsilon = 1.2;

/** Holds kernel memory: call `free` when done. */
export class QueryVector {
  readonly dimension: number;
  /** The address of its struct, which kernels take. */
  readonly address: number;
  /** The same for the query in list space (see metric.ts). Needs a rotation. */
  readonly listAddress: number;
  #scratch = 0;
  #scratchRows = 0;

  /** `vector` has the dimension of the rows. With the `rotation` of a model, rows can be pruned by their codes. */
  constructor(metric: Metric, vector: Float32Array, rotation: Rotation | undefined) {
    const { length } = vector;
    this.dimension = length;
    const rotated = rotation?.rotated ?? 0;
    // Two structs; the vector, in list space, rotated; the table, 16 bytes per four components; room for scalar codes.
    this.address = allocate(2 * structBytes + 12 * length + 8 * rotated + 80);
    this.listAddress = this.address + structBytes;
    const at = this.address + 2 * structBytes;
    const point = nextMultipleOf16(at + 4 * length);
    const rotatedAt = nextMultipleOf16(point + 4 * length);
    floatsAt(at, length).set(vector);
    const words = allWords();
    words.fill(0, this.address >>> 2, at >>> 2);
    words[(this.address + queryLayout.vector) >>> 2] = at;
    words[(this.address + queryLayout.dimension) >>> 2] = length;
    words[(this.address + queryLayout.cosine) >>> 2] = metric === "cosine" ? 1 : 0;
    words[(this.address + queryLayout.scalarVector) >>> 2] = nextMultipleOf16(rotatedAt + 8 * rotated);
    kernels().measureQuery(this.address);
    if (rotation === undefined) return;
    words[(this.address + queryLayout.table) >>> 2] = rotatedAt + 4 * rotated;
    floatsAt(this.address + queryLayout.epsilon, 1)[0] = epsilon;
    rotation.prepare(this.address, point, rotatedAt);
    words.copyWithin(this.listAddress >>> 2, this.address >>> 2, this.listAddress >>> 2);
    words[(this.listAddress + queryLayout.vector) >>> 2] = point;
    words[(this.listAddress + queryLayout.cosine) >>> 2] = 0;
    // Lists are ordered, not reported.
    words[(this.listAddress + queryLayout.rankOnly) >>> 2] = 1;
    floatsAt(this.listAddress + queryLayout.epsilon, 1)[0] = listEpsilon;
    kernels().measureQuery(this.listAddress);
  }

  /** Allocates scratch for scanning blocks of up to `rows` rows. */
  reserve(rows: number): void {
    if (rows <= this.#scratchRows) return;
    if (this.#scratch > 0) freeScratch(this.#scratch);
    this.#scratchRows = Math.ceil(Math.max(256, rows) / 32) * 32;
    this.#scratch = allocate(12 * this.#scratchRows);
    const words = allWords();
    for (const address of [this.address, this.listAddress])
      words[(address + queryLayout.scratch) >>> 2] = this.#scratch;
  }

  /** The address of `IdTable` structs of newer segments, newest first. */
  set newerIdTables(at: number) {
    allWords()[(this.address + queryLayout.newerIdTables) >>> 2] = at;
  }

  free(): void {
    if (this.#scratch > 0) freeScratch(this.#scratch);
    freeScratch(this.address);
  }
}

function nextMultipleOf16(offset: number): number {
  return Math.ceil(offset / 16) * 16;
}
