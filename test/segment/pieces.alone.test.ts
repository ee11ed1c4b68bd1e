/** A segment of any size is written in pieces: how many bytes are copied or sealed between two pauses is counted. */

import { afterEach, expect, test, vi } from "vitest";
import { ObjectSealer, onlyKey } from "../../src/crypto/sealed-object.js";
import { secretKey } from "../../src/crypto/keys.js";
import { CoarseQuantizer } from "../../src/engine/lists/coarse-quantizer.js";
import { flatCodec } from "../../src/engine/codes/flat.js";
import { callKernel } from "../../src/engine/kernels/kernels.js";
import { seededRandom } from "../../src/engine/random.js";
import { trainModel } from "../../src/engine/training/train.js";
import type { Work } from "../../src/engine/work.js";
import { vectorRows } from "../../src/state/segment/row-source.js";
import { encodeRecord, type Rows, rowsOf } from "../../src/state/segment/row.js";
import { writeSegment } from "../../src/state/segment/segment-writer.js";
import { finish } from "../engine/finish.js";

const mebibyte = 2 ** 20;
/** Blocks that are sealed and then copied to their place; fewer bytes are encoded in parallel. */
const pieceBytesMax = 3 * mebibyte;

afterEach(() => {
  vi.restoreAllMocks();
});

/** Counts the bytes that are copied or sealed in each piece of the work. */
function bytesOfPieces(work: Work<unknown>): number[] {
  let bytes = 0;
  const { set } = Uint8Array.prototype;
  const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as { set: typeof set };
  vi.spyOn(typedArray, "set").mockImplementation(function (
    this: Uint8Array,
    source: ArrayLike<number>,
    offset?: number,
  ) {
    bytes += ArrayBuffer.isView(source) ? source.byteLength : source.length;
    set.call(this, source, offset);
  });
  const { sealPieces } = ObjectSealer.prototype;
  vi.spyOn(ObjectSealer.prototype, "sealPieces").mockImplementation(function (this: ObjectSealer, plaintext) {
    bytes += plaintext.reduce((sum, { length }) => sum + length, 0);
    return sealPieces.call(this, plaintext);
  });
  const pieces: number[] = [];
  for (let step = work.next(); step.done !== true; step = work.next()) {
    pieces.push(bytes);
    bytes = 0;
  }
  pieces.push(bytes);
  return pieces;
}

test("rows are assigned to lists in pieces", () => {
  const [dimension, nLists, n] = [768, 32, 8000];
  const empty = new Float32Array(0);
  const model = {
    dimension,
    centroids: new Float32Array(nLists * dimension),
    rotationSeed: 1,
    spreads: new Float32Array(nLists),
    curves: { depths: empty, values: empty },
    probeLimits: empty,
  };
  const quantizer = finish(CoarseQuantizer.open(model, "euclidean"));
  const vectors = new Float32Array(n * dimension).fill(0.5);
  const pointsOf = (first: number, count: number) =>
    vectors.subarray(first * dimension, (first + count) * dimension);
  const pieces = bytesOfPieces(quantizer.assignAll(n, pointsOf));
  expect(Math.max(...pieces)).toBeLessThan(1.1 * mebibyte);
  expect(pieces.reduce((sum, bytes) => sum + bytes, 0)).toBeGreaterThan(vectors.byteLength);
  quantizer.free();
});

function segmentOf(
  n: number,
  dimension: number,
  contentsBytes: number,
  seen: (rows: Rows) => Rows = (rows) => rows,
) {
  const contents = contentsBytes === 0 ? null : new Uint8Array(contentsBytes).fill(120);
  const rows = Array.from({ length: n }, (_, i) => ({
    fingerprint: Buffer.from(String(i).padStart(16, "0")),
    record: encodeRecord({ id: `${i}`, metadataJson: "{}" }),
    contents,
  }));
  const source = vectorRows([new Float32Array(n * dimension).fill(0.5)], dimension);
  const keys = onlyKey(secretKey(new Uint8Array(32).fill(1)));
  const context = { kind: "segment", indexId: new Uint8Array(16), name: "a" } as const;
  return writeSegment(
    keys,
    context,
    { dimension, rows: seen(rowsOf(rows)), source, deleted: [] },
    { spills: false, codec: flatCodec("euclidean", dimension, "none"), toListSpace: (vectors) => vectors },
  );
}

test.each([
  ["vectors of 768 numbers", 10_000, 768, 0],
  ["vectors of 8,192 numbers", 1000, 8192, 0],
  ["texts of 1 MiB", 31, 1, mebibyte],
])("a segment with 30 MiB of %s", (_, n, dimension, contentsBytes) => {
  const pieces = bytesOfPieces(segmentOf(n, dimension, contentsBytes));
  expect(Math.max(...pieces)).toBeLessThan(pieceBytesMax);
  // Everything is counted: gathered or not, it is sealed, and joined to one object.
  expect(pieces.reduce((sum, bytes) => sum + bytes, 0)).toBeGreaterThan(58 * mebibyte);
});

test("a segment of many short rows looks at some thousands of them in each piece", () => {
  const n = 30_000;
  let visits = 0;
  const counting = (rows: Rows): Rows => ({
    length: rows.length,
    at(position) {
      visits++;
      return rows.at(position);
    },
  });
  const work = segmentOf(n, 1, 0, counting);
  const pieces: number[] = [];
  for (let step = work.next(); step.done !== true; step = work.next()) {
    pieces.push(visits);
    visits = 0;
  }
  pieces.push(visits);
  expect(Math.max(...pieces)).toBeLessThan(10_000);
  // Fingerprints, records, contents, ids, columns, expiries.
  expect(pieces.reduce((sum, count) => sum + count, 0)).toBe(6 * n);
});

test("measurements of held-out rows are copied in pieces", () => {
  const [n, dimension, nLists] = [24_000, 2, 600];
  const random = seededRandom(3);
  const points = Float32Array.from({ length: n * dimension }, random);
  let bytes = 0;
  const { set, slice } = Float32Array.prototype;
  const typedArray = Object.getPrototypeOf(Float32Array.prototype) as Float32Array;
  vi.spyOn(typedArray, "slice").mockImplementation(function (
    this: Float32Array<ArrayBuffer>,
    start?: number,
    end?: number,
  ) {
    const copy = slice.call(this, start, end) as Float32Array<ArrayBuffer>;
    bytes += copy.byteLength;
    return copy;
  });
  vi.spyOn(typedArray, "set").mockImplementation(function (
    this: Float32Array,
    source: ArrayLike<number>,
    offset?: number,
  ) {
    bytes += 4 * source.length;
    set.call(this, source, offset);
  });
  const work = trainModel({ points, dimension, metric: "euclidean", spills: false, rows: n }, nLists, 1);
  let most = 0;
  let sum = 0;
  for (let step = work.next(); step.done !== true; step = work.next()) {
    for (const call of step.value ?? []) callKernel(call);
    most = Math.max(most, bytes);
    sum += bytes;
    bytes = 0;
  }
  // Of each of 1,000 rows, its distances from all lists, and from all rows.
  expect(sum).toBeGreaterThan(4 * 1000 * (nLists + n));
  expect(most).toBeLessThan(1.1 * mebibyte);
});
