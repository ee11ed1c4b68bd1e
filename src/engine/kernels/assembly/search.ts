/**
 * What a search consists of: one query, prepared; jobs, each a block of rows to compare it with; and the heap that keeps the
 * nearest. A codec's scan goes through jobs by itself, so that a query costs one call however many lists it probes.
 *
 * ../../scanner.ts, ../../query-vector.ts and ../../block-record.ts write these records and know their layouts.
 */

import { Heap, offer, wordsInOrder } from "./heap";

/** A query, and what was computed of it once for all jobs. */
@unmanaged
export class Query {
  /** float32 of `dimension`. */
  vector: usize;
  dimension: u32;
  /** 1: scores are 1 - cos; 0: squared L2. */
  cosine: u32;
  /** 1: float32 arithmetic can neither overflow nor lose a difference on this query. */
  narrow: u32;
  /** The lookup table of the rotated query and its groups of four components, or 0: nothing is pruned. */
  table: usize;
  groups: u32;
  /** Room for 12 bytes for each row of the largest job, rounded up to 32 rows. */
  scratch: usize;
  /** Pairs (entries, count): sorted id tables of newer segments, newest first. */
  newer: usize;
  /** Euclidean norm of the vector. */
  norm: f64;
  step: f32;
  shift: f32;
  /** Standard deviation of <x, P q> that rounding of the table makes. */
  rounding: f32;
  /** Standard deviations that an estimate may be off before a row is wrongly ruled out. */
  deviations: f32;
  /** 1: scores in float32 will do, wherever it can neither overflow nor lose a difference. */
  rough: u32;
}

/** A block of rows in memory; ../../block-record.ts writes it. */
@unmanaged
export class Block {
  n: u32;
  /** Layout (n, 4) words: tie keys, and what id tables are searched for. */
  fingerprints: usize;
  /** What `ivfflat` has beside: vectors, norms, RaBitQ factors or 0, RaBitQ codes, whether float32 suffices. */
  vectors: usize;
  norms: usize;
  factors: usize;
  codes: usize;
  narrow: u32;
  /** When a search by lists last scanned it, as that search was told. */
  lastUse: u32;
}

/** A block to scan. */
@unmanaged
export class Job {
  /** Of the block, for the heap. */
  number: u32;
  block: Block;
  /** How many of the query's id tables may hide rows of this block. */
  newer: u32;
  /** Bits of the rows that the filter accepts, or 0: all; the block's first row is bit `firstBit`. */
  accepted: usize;
  firstBit: u32;
  unused: u32;
  /** |q - c|^2 in list space; below 0 where the rows are not grouped by the query's quantizer. */
  base: f64;
}

@inline
export function jobAt(jobs: usize, i: u32): Job {
  return changetype<Job>(jobs + <usize>i * offsetof<Job>());
}

@inline
export function isAccepted(job: Job, row: u32): bool {
  if (!job.accepted) return true;
  const bit = job.firstBit + row;
  return <bool>((load<u32>(job.accepted + ((<usize>bit >> 5) << 2)) >> (bit & 31)) & 1);
}

/** Lanes of ones for those of the four rows from `row` on, of n, that the filter accepts; there must be one. */
@inline
export function acceptedFour(job: Job, row: u32, n: u32): v128 {
  const bit = job.firstBit + row;
  const at = job.accepted + (<usize>bit >> 3);
  const shift = bit & 7;
  let bits = <u32>load<u8>(at) >>> shift;
  // The next byte is there if a row that is there needs it.
  if (shift > 4 && row + 8 - shift < n) bits |= <u32>load<u8>(at, 1) << (8 - shift);
  const each = i32x4(1, 2, 4, 8);
  return i32x4.eq(v128.and(i32x4.splat(bits), each), each);
}

/** Offers a row with its score, unless a newer segment speaks of its item. */
export function offerRow(query: Query, job: Job, heap: Heap, row: u32, score: f64): void {
  if (!(score <= heap.threshold)) return;
  const fingerprint = job.block.fingerprints + (<usize>row << 4);
  for (let table: u32 = 0; table < job.newer; table++) {
    const at = query.newer + (<usize>table << 3);
    if (isInTable(load<usize>(at), load<u32>(at, 4), fingerprint)) return;
  }
  offer(heap, score, job.number, row, fingerprint);
}

const entryBytes: usize = 20;

/** Whether a fingerprint is among `count` sorted entries of five words, of which the first four are one. */
function isInTable(entries: usize, count: u32, fingerprint: usize): bool {
  const high = wordsInOrder(fingerprint);
  const low = wordsInOrder(fingerprint + 8);
  let from: u32 = 0;
  let to = count;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const entry = entries + <usize>middle * entryBytes;
    const entryHigh = wordsInOrder(entry);
    const entryLow = wordsInOrder(entry + 8);
    if (entryHigh == high && entryLow == low) return true;
    if (entryHigh < high || (entryHigh == high && entryLow < low)) from = middle + 1;
    else to = middle;
  }
  return false;
}
