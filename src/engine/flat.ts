/**
 * Codes of `ivfflat` and of every untrained index: the vector itself, float32 little-endian, layout
 * (n, dimension). Where rows are grouped by a model's lists, RaBitQ codes follow, which rule most rows out.
 *
 * A scan without them loses no row; with them, now and then one near the threshold. Either way, rows that pass get their
 * score in float64, so scores do not depend on how rows are spread over blocks.
 */

import type { Codec, Grouping, LoadedCodes } from "./codec.js";
import type { Metric } from "./config.js";
import { allocateFlat, type FlatCodes, flatCodes } from "./flat-codes.js";
import { kernels } from "./kernels/kernels.js";
import { bytesAt, floatsAt } from "./kernels/memory.js";
import { toListSpace } from "./metric.js";
import { encodeList, rabitqBytes } from "./rabitq.js";

export function flatCodec(metric: Metric, dimension: number, grouping: Grouping): Codec {
  const rowBytes = 4 * dimension;
  return {
    exact: true,
    codeBytes: (n) => n * rowBytes + (grouping === "none" ? 0 : rabitqBytes(n, dimension)),
    *encode(vectors, list) {
      const exact = new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength);
      if (typeof grouping === "string") return [exact];
      return [exact, yield* encodeList(toListSpace(metric, vectors, dimension), grouping, list)];
    },
    decode(codes, n) {
      if (codes.byteOffset % 4 === 0) return new Float32Array(codes.buffer, codes.byteOffset, n * dimension);
      const vectors = new Float32Array(n * dimension);
      new Uint8Array(vectors.buffer).set(codes.subarray(0, n * rowBytes));
      return vectors;
    },
    pick(codes, rows) {
      const { vectors } = codes as FlatCodes;
      const picked = new Float32Array(rows.length * dimension);
      rows.forEach((row, i) => picked.set(floatsAt(vectors + row * rowBytes, dimension), i * dimension));
      return picked;
    },
    load: (codes, n, fingerprints) => loadFlat(codes, n, dimension, fingerprints),
  };
}

function loadFlat(codes: Uint8Array, n: number, dimension: number, fingerprints: number): LoadedCodes {
  const exactBytes = 4 * dimension * n;
  const room = allocateFlat(n, dimension, codes.byteLength - exactBytes);
  bytesAt(room.vectors, exactBytes).set(codes.subarray(0, exactBytes));
  bytesAt(room.factors, codes.byteLength - exactBytes).set(codes.subarray(exactBytes));
  kernels().normsFloat64(room.vectors, n, dimension, room.norms);
  return flatCodes(room, fingerprints);
}
