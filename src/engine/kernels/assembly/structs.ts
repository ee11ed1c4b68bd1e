/**
 * The parts of a search: one prepared query; jobs, each a block of rows to compare it with; and the heap that keeps the
 * nearest rows. A kernel goes through all jobs, so that a query costs one call, however many lists it probes.
 */

import { Heap, offer, wordsInOrder } from "./heap";
import { RowGroup } from "./row-group";

/** A query, and the values computed from it once for all jobs. */
@unmanaged
export class Query {
  /** float32, `dimension` of them. */
  vector: usize;
  dimension: u32;
  /** 1: scores are 1 - cos; 0: squared L2. */
  cosine: u32;
  /** 1: float32 arithmetic can neither overflow nor lose a difference on this query. */
  fitsFloat32: u32;
  /** The lookup table of the rotated query and its number of groups of four components; table 0: nothing is pruned. */
  table: usize;
  groups: u32;
  /** Room for 12 bytes for each of so many rows, a multiple of 32: no block has more. */
  scratch: usize;
  scratchRows: u32;
  /** `IdTable` structs of newer segments, newest first. */
  newerIdTables: usize;
  /** Euclidean norm of the vector. */
  norm: f64;
  step: f32;
  shift: f32;
  /** Standard deviation of <x, P q> that rounding of the table adds. */
  rounding: f32;
  /** RaBitQ's error parameter: how many standard deviations an estimate may be off before a row is wrongly pruned. */
  epsilon: f32;
  /** 1: rows are ranked and not reported, so scores in float32 suffice if the query and the rows fit float32. */
  rankOnly: u32;
  /** The precision for which `scalarVector` is prepared; 0: none yet. */
  scalarPrecision: u32;
  /** Room for the dimension and 4 more float32: the query as `prepareScalar` makes it. */
  scalarVector: usize;
  /** The unit of products with scalar codes, and their error relative to the product of the norms. */
  scalarStep: f64;
  scalarSlack: f64;
  /** The rows that are compared with it together. */
  group: RowGroup;
  /** The `CodedQuery` of the rows' model (see coded-query.ts); needed for codes without vectors. */
  coded: usize;
  /** How many rows it was compared with by their codes, and how many by their vectors. */
  codesCompared: u32;
  vectorsCompared: u32;
}

/** A block of rows in memory. Addresses may be 0: the block has no such data. Codes without vectors have fingerprints and `rowCodes`. */
@unmanaged
export class Block {
  n: u32;
  /** Layout (n, 4) words: tie keys, which are looked up in id tables. */
  fingerprints: usize;
  /** float32 or scalar codes, layout (n, dimension). */
  vectors: usize;
  /** n float64. */
  norms: usize;
  /** RaBitQ factors and codes, as `encodeRabitq` writes them. */
  factors: usize;
  codes: usize;
  /** 1: float32 arithmetic can neither overflow nor lose a difference on these rows. */
  fitsFloat32: u32;
  /** The `now` of the latest search that scanned it; 0: none did. */
  lastUse: u32;
  /** Of scalar codes, their precision (see scalar.ts) and scales, n float32; 0: the vectors are float32. */
  precision: u32;
  scales: usize;
  /** The `RowCodes` (see scan-coded.ts) of rows without vectors. */
  rowCodes: usize;
  /** Of its rows. */
  dimension: u32;
}

/** A block to scan. */
@unmanaged
export class Job {
  /** Identifies the block in the heap. */
  number: u32;
  block: Block;
  /** How many of the query's id tables may shadow rows of this block. */
  newerSegments: u32;
  /** Bits of the rows that the filter accepts, the block's first row at bit `firstBit`; 0: all rows are accepted. */
  accepted: usize;
  firstBit: u32;
  /** Sum of the bytes that `searchLists` read ahead. It is stored so that the compiler keeps the reads. */
  readAhead: u32;
  /** |q - c|^2 in list space; below 0 if the rows are not grouped by the query's quantizer. */
  base: f64;
}

/** A sorted id table: `count` entries of five words, of which the first four are the fingerprint. */
@unmanaged
export class IdTable {
  entries: usize;
  count: u32;
}

/** 1 - cos of a product and the product of the norms, `scale`. */
@inline
export function clampCosine(scale: f64, product: f64): f64 {
  // A zero vector has no direction and counts as orthogonal to everything.
  return scale == 0 ? 1 : min<f64>(2, max<f64>(0, 1 - product / scale));
}

/** Traps unless a query can be compared with a block: beyond it lies the memory of other indexes. */
@inline
export function checkBlock(query: Query, block: Block): void {
  if (block.dimension != query.dimension || block.n > query.scratchRows) unreachable();
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

/** Lanes of ones for those of the four rows from `row` on, of n, that the filter accepts. `job.accepted` must not be 0. */
@inline
export function acceptedFour(job: Job, row: u32, n: u32): v128 {
  const bit = job.firstBit + row;
  const at = job.accepted + (<usize>bit >> 3);
  const shift = bit & 7;
  let bits = <u32>load<u8>(at) >>> shift;
  // The next byte exists if one of the rows needs it.
  if (shift > 4 && row + 8 - shift < n) bits |= <u32>load<u8>(at, 1) << (8 - shift);
  const each = i32x4(1, 2, 4, 8);
  return i32x4.eq(v128.and(i32x4.splat(bits), each), each);
}

/** Offers a row with its score, unless a newer segment shadows it. */
export function offerRow(query: Query, job: Job, heap: Heap, row: u32, score: f64): void {
  if (!(score <= heap.threshold)) return;
  const fingerprint = job.block.fingerprints + (<usize>row << 4);
  for (let table: u32 = 0; table < job.newerSegments; table++) {
    const at = query.newerIdTables + <usize>table * offsetof<IdTable>();
    if (isInTable(changetype<IdTable>(at), fingerprint)) return;
  }
  offer(heap, score, job.number, row, fingerprint);
}

const entryBytes: usize = 20;

function isInTable(table: IdTable, fingerprint: usize): bool {
  const high = wordsInOrder(fingerprint);
  const low = wordsInOrder(fingerprint + 8);
  let from: u32 = 0;
  let to = table.count;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const entry = table.entries + <usize>middle * entryBytes;
    const entryHigh = wordsInOrder(entry);
    const entryLow = wordsInOrder(entry + 8);
    if (entryHigh == high && entryLow == low) return true;
    if (entryHigh < high || (entryHigh == high && entryLow < low)) from = middle + 1;
    else to = middle;
  }
  return false;
}
