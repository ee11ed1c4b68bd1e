/** A segment of any size is written in pieces: how many bytes are copied or sealed between two pauses is counted. */

import { afterEach, expect, test, vi } from "vitest";
import { ObjectSealer, onlyKey } from "../../src/crypto/sealed-object.js";
import { secretKey } from "../../src/crypto/keys.js";
import { CoarseQuantizer } from "../../src/engine/coarse-quantizer.js";
import { flatCodec } from "../../src/engine/flat.js";
import type { Work } from "../../src/engine/work.js";
import { vectorRows } from "../../src/segment/row-source.js";
import { encodeRecord } from "../../src/segment/row.js";
import { writeSegment } from "../../src/segment/segment-writer.js";
import { finish } from "../engine/finish.js";

const mebibyte = 2 ** 20;
/** Blocks that are encoded in parallel. */
const pieceBytesMax = 4.2 * mebibyte;

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

function segmentOf(n: number, dimension: number, contentsBytes: number) {
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
    { dimension, rows, source, deleted: [] },
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
