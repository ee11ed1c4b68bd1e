/**
 * Codes of `ivfflat` and of every untrained index: the vectors, float32 little-endian, layout (n, dimension). If rows are grouped
 * by a model's lists, RaBitQ codes follow, by which most rows are pruned.
 *
 * A scan without RaBitQ codes is exact; with them, it sometimes loses a row near the threshold. Either way, scores are computed in
 * float64, so they do not depend on how rows are distributed over blocks.
 */

import { bytesOf, checkLength, copySections, type RowCodes, type Sections } from "./code-sections.js";
import type { LoadedVectors, PruningCodes, VectorCodec } from "./codec.js";
import type { Metric } from "../config.js";
import { allocateFlat, loadedVectors } from "./flat-codes.js";
import { kernels } from "../kernels/kernels.js";
import { encodeList, rabitqAddresses, rabitqBytes, rabitqSections, unpackRabitq } from "./rabitq.js";

export function flatCodec(metric: Metric, dimension: number, pruning: PruningCodes): VectorCodec {
  const rowBytes = 4 * dimension;
  const sections: Sections = (n) => [
    n * rowBytes,
    ...(pruning === "none" ? [] : rabitqSections(n, dimension)),
  ];
  return {
    kind: "vectors",
    codeBytes: (n) => bytesOf(sections, n),
    check: (rows) => checkLength(rows, sections),
    *encode(vectors, list) {
      const exact = new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength);
      if (typeof pruning === "string") return [exact];
      return [exact, yield* encodeList(vectors, metric, pruning, list)];
    },
    decode(codes, n) {
      if (codes.byteOffset % 4 === 0) return new Float32Array(codes.buffer, codes.byteOffset, n * dimension);
      const vectors = new Float32Array(n * dimension);
      new Uint8Array(vectors.buffer).set(codes.subarray(0, n * rowBytes));
      return vectors;
    },
    load: (rows, fingerprints) => loadFlat(rows, sections, dimension, fingerprints),
  };
}

function loadFlat(
  rows: RowCodes,
  sections: Sections,
  dimension: number,
  fingerprints: number,
): LoadedVectors {
  const { n } = rows;
  const isPruned = sections(n).length > 1;
  const memory = allocateFlat(n, dimension, isPruned ? rabitqBytes(n, dimension) : 0);
  copySections(rows, sections, [memory.vectors, ...rabitqAddresses(memory.factors, n)]);
  if (isPruned) unpackRabitq(memory.factors, n, dimension);
  kernels().normsFloat64(memory.vectors, n, dimension, memory.norms);
  return loadedVectors(memory, fingerprints);
}
