/** The second lists of a segment's rows, as they are stored: see engine/second-lists.ts. */

import { nListsMax } from "../../engine/config.js";
import { kernels } from "../../engine/kernels/kernels.js";
import { allocate, bytesAt, free } from "../../engine/kernels/memory.js";
import { comparedMax, secondLists, spilledRowsMin } from "../../engine/lists/second-lists.js";
import { noList } from "../../engine/rows.js";
import { together, type Work } from "../../engine/work.js";
import type { Encoding, Grouped, RowSource } from "./row-source.js";

/** Rows whose second lists share a block. */
const rowsTogether = 65_536;

/** Bytes held for rows that are compared with other lists in parallel. */
const bytesTogether = 8 * 1024 * 1024;

/** Bytes that choosing second lists for rows of one list takes per list, which is also its cost in time. */
const listBytes = 32;

/** Rows of one list, by their places in the segment: `start` to `end`, exclusive. */
interface Part {
  readonly list: number;
  readonly start: number;
  readonly end: number;
}

/** The blocks of a segment's second lists; none if its rows are not spilled. */
export function* encodeSecondLists(
  source: RowSource,
  { order, runs }: Grouped,
  encoding: Encoding,
): Work<Uint8Array[]> {
  const { quantizer, spills, toListSpace } = encoding;
  if (!spills || quantizer === undefined || order.length < spilledRowsMin * quantizer.nLists) return [];
  if (quantizer.nLists > nListsMax) return [];
  const { dimension } = quantizer.centroids;
  // A row takes its numbers, twice, and its distances from the lists that it is compared with, whose centroids are copied.
  const compared = Math.min(quantizer.nLists, comparedMax);
  const rowBytes = 4 * (2 * dimension + compared);
  const seconds = new Uint16Array(order.length);
  for (const parts of inParallel(runs, rowBytes, 4 * dimension * compared + listBytes * quantizer.nLists)) {
    const points = parts.map(({ start, end }) => {
      const vectors = source.vectorsAt(order.subarray(start, end));
      if (vectors === undefined) throw new TypeError("row codes are not in second lists");
      return toListSpace(vectors);
    });
    // Codes of numbers that float32 cannot square estimate nothing.
    if (!points.every((each) => fitFloat32(each, dimension))) return [];
    yield;
    const chosen = yield* together(
      parts.map(({ list }, i) => secondLists(quantizer.centroids, points[i], list)),
    );
    if (chosen.some((lists) => lists.includes(noList))) return [];
    parts.forEach(({ start }, i) => seconds.set(chosen[i], start));
    yield;
  }
  return Array.from({ length: Math.ceil(seconds.length / rowsTogether) }, (_, i) => {
    const block = seconds.subarray(i * rowsTogether, (i + 1) * rowsTogether);
    return new Uint8Array(block.buffer, block.byteOffset, block.byteLength);
  });
}

/** Parts, cut so that each holds `bytesTogether` at most, as many at a time as hold that. */
function* inParallel(parts: readonly Part[], rowBytes: number, partBytes: number): Generator<Part[]> {
  const rowsMax = Math.max(1, Math.floor((bytesTogether - partBytes) / rowBytes));
  let group: Part[] = [];
  let bytes = 0;
  for (const { list, start, end } of parts) {
    for (let from = start; from < end; from += rowsMax) {
      const part = { list, start: from, end: Math.min(end, from + rowsMax) };
      const held = partBytes + rowBytes * (part.end - part.start);
      if (group.length > 0 && bytes + held > bytesTogether) {
        yield group;
        [group, bytes] = [[], 0];
      }
      group.push(part);
      bytes += held;
    }
  }
  if (group.length > 0) yield group;
}

function fitFloat32(points: Float32Array, dimension: number): boolean {
  const n = points.length / dimension;
  const at = allocate(8 * n + 4 * points.length);
  const rows = at + 8 * n;
  bytesAt(rows, points.byteLength).set(new Uint8Array(points.buffer, points.byteOffset, points.byteLength));
  kernels().normsFloat64(rows, n, dimension, at);
  const fit = kernels().fitsFloat32(at, n) === 1;
  free(at);
  return fit;
}
