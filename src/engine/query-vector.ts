/** One query in kernel memory, prepared for comparisons with rows. */

import type { Metric } from "./config.js";
import { kernels } from "./kernels/kernels.js";
import { queryLayout, rowGroupLayout, scratchRowsMin } from "./kernels/kernels.wasm.js";
import { allFloats, allocate, allWords, freeScratch } from "./kernels/memory.js";
import type { Rotation } from "./rotation.js";

/** Of one of two structs that follow one another. */
const structBytes = nextMultipleOf16(queryLayout.bytes);
const structsBytes = 2 * structBytes + rowGroupLayout.bytes;

/** Scratch per row. */
const scratchRowBytes = 12;
/** RaBitQ's error parameter, if nothing else is measured: how many standard deviations an estimate may be off before a row is wrongly pruned. */
export const epsilonByDefault = 2.2;
/** The same for lists: a missed list is one of the farthest, and another takes its place. */
const listEpsilon = 1.2;

/** Holds kernel memory: call `free` when done. */
export class QueryVector {
  readonly dimension: number;
  /** The address of its struct, which kernels take. */
  readonly address: number;
  /** The same for the query in list space (see metric.ts). Needs a rotation. */
  readonly listAddress: number;
  /** The address of the vector in list space, float32. Needs a rotation. */
  readonly pointAddress: number;
  /** The address of the room that was asked for, a multiple of 16. */
  readonly room: number;
  #scratch = 0;
  #scratchBytes = 0;

  /**
   * `vector` has the dimension of the rows. With the `rotation` of a model, rows can be pruned by their codes. `roomBytes`: kernel memory
   * for the other needs of its search.
   */
  constructor(metric: Metric, vector: Float32Array, rotation: Rotation | undefined, roomBytes = 0) {
    const { length } = vector;
    this.dimension = length;
    const rotated = rotation?.rotated ?? 0;
    // Two structs and their group of rows; the vector, in list space, rotated; the table, 16 bytes per four components; room for scalar codes.
    const ownBytes = nextMultipleOf16(structsBytes + 12 * length + 8 * rotated + 80);
    this.address = allocate(ownBytes + roomBytes);
    this.room = this.address + ownBytes;
    this.listAddress = this.address + structBytes;
    const at = this.address + structsBytes;
    const point = nextMultipleOf16(at + 4 * length);
    this.pointAddress = point;
    const rotatedAt = nextMultipleOf16(point + 4 * length);
    const floats = allFloats();
    floats.set(vector, at >>> 2);
    const words = allWords();
    words.fill(0, this.address >>> 2, at >>> 2);
    words[(this.address + queryLayout.group) >>> 2] = this.address + 2 * structBytes;
    words[(this.address + queryLayout.vector) >>> 2] = at;
    words[(this.address + queryLayout.dimension) >>> 2] = length;
    words[(this.address + queryLayout.cosine) >>> 2] = metric === "cosine" ? 1 : 0;
    words[(this.address + queryLayout.scalarVector) >>> 2] = nextMultipleOf16(rotatedAt + 8 * rotated);
    kernels().measureQuery(this.address);
    if (rotation === undefined) return;
    words[(this.address + queryLayout.table) >>> 2] = rotatedAt + 4 * rotated;
    floats[(this.address + queryLayout.epsilon) >>> 2] = epsilonByDefault;
    rotation.prepare(this.address, point, rotatedAt);
    words.copyWithin(this.listAddress >>> 2, this.address >>> 2, this.listAddress >>> 2);
    words[(this.listAddress + queryLayout.vector) >>> 2] = point;
    words[(this.listAddress + queryLayout.cosine) >>> 2] = 0;
    // Lists are ordered, not reported.
    words[(this.listAddress + queryLayout.rankOnly) >>> 2] = 1;
    floats[(this.listAddress + queryLayout.epsilon) >>> 2] = listEpsilon;
    kernels().measureQuery(this.listAddress);
  }

  /** Allocates scratch for scanning blocks of up to `rows` rows. */
  reserve(rows: number): void {
    const bytes = scratchBytes(rows);
    if (bytes <= this.#scratchBytes) return;
    if (this.#scratch > 0) freeScratch(this.#scratch);
    this.#scratch = allocate(bytes);
    this.useScratch(this.#scratch, bytes);
  }

  /** Makes `bytes` of scratch at an address that is the caller's, see `scratchBytes`, serve as the reserved memory. */
  useScratch(at: number, bytes: number): void {
    this.#scratchBytes = bytes;
    const words = allWords();
    for (const query of [this.address, this.listAddress]) {
      words[(query + queryLayout.scratch) >>> 2] = at;
      words[(query + queryLayout.scratchRows) >>> 2] = bytes / scratchRowBytes;
    }
  }

  /** The address of `IdTable` structs of newer segments, newest first. */
  set newerIdTables(at: number) {
    allWords()[(this.address + queryLayout.newerIdTables) >>> 2] = at;
  }

  /** The address of its tables for codes without vectors (see ModelQuantizer). */
  set coded(at: number) {
    allWords()[(this.address + queryLayout.coded) >>> 2] = at;
  }

  /** How many standard deviations estimates may be off, from now on. Default: `epsilonByDefault`. */
  set epsilon(value: number) {
    allFloats()[(this.address + queryLayout.epsilon) >>> 2] = value;
  }

  /** How many rows it was compared with, by their codes and by their vectors. */
  get compared(): { readonly codes: number; readonly vectors: number } {
    const words = allWords();
    return {
      codes: words[(this.address + queryLayout.codesCompared) >>> 2],
      vectors: words[(this.address + queryLayout.vectorsCompared) >>> 2],
    };
  }

  free(): void {
    if (this.#scratch > 0) freeScratch(this.#scratch);
    freeScratch(this.address);
  }
}

/** Bytes of scratch that scanning blocks of up to `rows` rows takes. */
export function scratchBytes(rows: number): number {
  return scratchRowBytes * Math.ceil(Math.max(rows, scratchRowsMin) / 32) * 32;
}

function nextMultipleOf16(offset: number): number {
  return Math.ceil(offset / 16) * 16;
}
