/** Codes of a segment's rows in their second lists, to be stored: see spilled-codes.ts. */

import { kernels } from "../engine/kernels/kernels.js";
import { allocate, bytesAt, free } from "../engine/kernels/memory.js";
import { encodeList } from "../engine/rabitq.js";
import { sortByList } from "../engine/rows.js";
import { comparedMax, noList, secondLists, spilledRowsMin } from "../engine/second-lists.js";
import { together, type Work } from "../engine/work.js";
import type { Encoding, Grouped, RowSource } from "./row-source.js";

const blockBytes = 512 * 1024;
/** What is held for rows that are compared with other lists, or encoded, in parallel, in bytes. */
const bytesTogether = 8 * 1024 * 1024;

/** What choosing second lists for rows of one list takes per list that there is, in bytes; and in time, as much as so many bytes. */
const listBytes = 32;

/** Rows of one list, by their places in the segment. */
interface Part {
  readonly list: number;
  readonly places: Uint32Array;
}

/** The blocks of a segment's spilled codes, each in pieces to be concatenated; none if its rows are not spilled. */
export function* encodeSpilled(
  source: RowSource,
  { order, runs }: Grouped,
  encoding: Encoding,
): Work<Uint8Array[][]> {
  const { quantizer, spills, toListSpace } = encoding;
  if (!spills || quantizer === undefined || order.length < spilledRowsMin * quantizer.nLists) return [];
  const pointsOf = (places: Uint32Array) => {
    const vectors = source.vectorsAt(places.map((place) => order[place]));
    if (vectors === undefined) throw new TypeError("row codes are not in second lists");
    return toListSpace(vectors);
  };
  const { dimension } = quantizer.centroids;
  // A row takes its numbers, twice, and its distances from the lists that it is compared with, whose centroids are copied.
  const compared = Math.min(quantizer.nLists, comparedMax);
  const rowBytes = 4 * (2 * dimension + compared);
  const seconds = new Uint32Array(order.length);
  const own = runs.map(({ list, start, end }) => ({ list, places: range(start, end) }));
  for (const parts of inParallel(own, rowBytes, 4 * dimension * compared + listBytes * quantizer.nLists)) {
    const points = parts.map(({ places }) => pointsOf(places));
    // Codes of numbers that float32 cannot square estimate nothing.
    if (!points.every((each) => fitFloat32(each, dimension))) return [];
    yield;
    const chosen = yield* together(
      parts.map(({ list }, i) => secondLists(quantizer.centroids, points[i], list)),
    );
    parts.forEach(({ places }, i) => seconds.set(chosen[i], places[0]));
    yield;
  }
  if (seconds.includes(noList)) return [];

  const blocks: Uint8Array[][] = [];
  let bytes = Infinity;
  for (const parts of inParallel(partsOf(seconds, quantizer.nLists), rowBytes, 0)) {
    const codes = yield* together(
      parts.map(({ list, places }) => encodeList(pointsOf(places), "euclidean", quantizer, list)),
    );
    for (const [i, { list, places }] of parts.entries()) {
      if (bytes > blockBytes) {
        blocks.push([]);
        bytes = 0;
      }
      const head = Uint32Array.of(list, places.length, ...places);
      blocks[blocks.length - 1].push(new Uint8Array(head.buffer), codes[i]);
      bytes += head.byteLength + codes[i].byteLength;
    }
    yield;
  }
  return blocks;
}

/** The places of the rows of each second list, in the order of the lists. */
function partsOf(seconds: Uint32Array, nLists: number): Part[] {
  const places = sortByList(seconds, nLists);
  const parts: Part[] = [];
  for (let start = 0; start < places.length;) {
    const list = seconds[places[start]];
    let end = start;
    while (end < places.length && seconds[places[end]] === list) end++;
    parts.push({ list, places: places.subarray(start, end) });
    start = end;
  }
  return parts;
}

/** Parts, cut so that each holds `bytesTogether` at most, as many at a time as hold that. */
function* inParallel(parts: readonly Part[], rowBytes: number, partBytes: number): Generator<Part[]> {
  const rowsMax = Math.max(1, Math.floor((bytesTogether - partBytes) / rowBytes));
  let group: Part[] = [];
  let bytes = 0;
  for (const { list, places } of parts) {
    for (let start = 0; start < places.length; start += rowsMax) {
      const part = { list, places: places.subarray(start, start + rowsMax) };
      const held = partBytes + rowBytes * part.places.length;
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

function range(start: number, end: number): Uint32Array {
  return Uint32Array.from({ length: end - start }, (_, i) => start + i);
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
