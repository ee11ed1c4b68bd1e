/**
 * The rows of a segment that match a selective filter, side by side in kernel memory: a query with that filter compares
 * them all, which is exact and cheaper than looking for them list by list. Kept in the cache of opened blocks.
 */

import type { LoadedCodes } from "../engine/codes/codec.js";
import { flatCodec } from "../engine/codes/flat.js";
import { allocate, allocatedBytes, free, wordsAt } from "../engine/kernels/memory.js";
import { type CachedValue, namedKey } from "../state/cache/cache-group.js";
import { groupsOf } from "../state/segment/block-requests.js";
import { rowsIn } from "../state/segment/row-bits.js";
import type { SegmentReader } from "../state/segment/segment-reader.js";
import { yieldToEventLoop } from "../async/event-loop.js";
import type { IndexConfig } from "../engine/config.js";
import type { MatchingRows } from "./row-filter.js";

export interface PrefilteredRows extends CachedValue {
  /** Their numbers in the segment. */
  readonly rows: readonly number[];
  /** In the order of `rows`. */
  readonly pieces: readonly PrefilteredPiece[];
}

export interface PrefilteredPiece {
  /** How many rows come before. */
  readonly firstPlace: number;
  readonly codes: LoadedCodes;
}

/**
 * Matching rows of an index up to which a filter is selective, and bytes of their vectors. At d = 384 comparing this many
 * rows takes about as long as searching 100,000 rows by their lists (bench/filters.mjs).
 */
const rowsMax = 2048;
const vectorBytesMax = 64 * 1024 * 1024;
/** The first pieces are small: once they are scanned there is a threshold, which rules out most of the others. */
const pieceEnds = [64, 512, rowsMax];

/** Whether `count` rows are few enough. */
export function isSelective(count: number, dimension: number): boolean {
  return count <= rowsMax && 4 * count * dimension <= vectorBytesMax;
}

function prefilteredKey({ digest }: MatchingRows) {
  return namedKey<PrefilteredRows>(`prefiltered rows ${digest}`);
}

/** The matching rows, pinned: call `unpinPrefiltered` when done. The reader's codec must be exact. */
export async function pinPrefiltered(
  config: IndexConfig,
  reader: SegmentReader,
  matching: MatchingRows,
): Promise<PrefilteredRows> {
  const gather = async () => [await gatherRows(config, reader, matching)];
  const [rows] = await reader.cache.pin([prefilteredKey(matching)], gather);
  return rows;
}

/** The matching rows if they are open, not pinned: valid until the next await. */
export function peekPrefiltered(reader: SegmentReader, matching: MatchingRows): PrefilteredRows | undefined {
  return reader.cache.peek(prefilteredKey(matching));
}

export function unpinPrefiltered(reader: SegmentReader, matching: MatchingRows): void {
  reader.cache.unpin([prefilteredKey(matching)]);
}

async function gatherRows(
  config: IndexConfig,
  reader: SegmentReader,
  { bits, count, blocks }: MatchingRows,
): Promise<PrefilteredRows> {
  const { dimension } = reader.footer;
  const rows: number[] = [];
  const vectors = new Float32Array(count * dimension);
  const fingerprints = new Uint32Array(4 * count);
  for (const group of groupsOf(blocks.keys())) {
    const opened = await reader.pinCodes(group);
    try {
      opened.forEach((open, i) => {
        const { firstRow, rows: size } = group[i];
        const found = rowsIn(bits, firstRow, firstRow + size).map((row) => row - firstRow);
        vectors.set(open.codes.gather(found), rows.length * dimension);
        for (const row of found) {
          fingerprints.set(wordsAt(open.fingerprints + 16 * row, 4), 4 * rows.length);
          rows.push(firstRow + row);
        }
      });
    } finally {
      reader.cache.unpin(group);
    }
    await yieldToEventLoop();
  }
  return load(config, rows, vectors, fingerprints, dimension);
}

function load(
  config: IndexConfig,
  rows: readonly number[],
  vectors: Float32Array,
  fingerprints: Uint32Array,
  dimension: number,
): PrefilteredRows {
  const codec = flatCodec(config.metric, dimension, "none");
  const before = allocatedBytes();
  const fingerprintsAt = allocate(fingerprints.byteLength);
  wordsAt(fingerprintsAt, fingerprints.length).set(fingerprints);
  const pieces: PrefilteredPiece[] = [];
  for (let start = 0; start < rows.length; start = pieceEnds[pieces.length - 1]) {
    const part = vectors.subarray(start * dimension, pieceEnds[pieces.length] * dimension);
    const bytes = new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
    const codes = codec.load({ codes: bytes, n: part.length / dimension }, fingerprintsAt + 16 * start);
    pieces.push({ firstPlace: start, codes });
  }
  return {
    rows,
    pieces,
    bytes: allocatedBytes() - before + 8 * rows.length,
    free() {
      free(fingerprintsAt);
      for (const { codes } of pieces) codes.free();
    },
  };
}
