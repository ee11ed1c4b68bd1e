/**
 * Codes of a trained index that keeps no vectors, `ivf` and `ivfpq`: a block of row codes (see code-layout.ts). Distances are
 * estimates, never NaN and never below zero; under `cosine` never above 2. What float32 cannot hold the squares of is
 * estimated as far away.
 */

import { writeBlockRecord } from "./block-record.js";
import type { Codec, LoadedCodes } from "./codec.js";
import {
  blockBytes,
  type CodeLayout,
  noCentroid,
  packBlock,
  rowCodeBytes,
  unpackBlock,
  unpackRows,
} from "./code-layout.js";
import type { IndexConfig } from "./config.js";
import { blockLayout } from "./kernels/kernels.wasm.js";
import { allocate, bytesAt, free, wordsAt } from "./kernels/memory.js";
import { toListSpace } from "./metric.js";
import type { CodedModel } from "./model.js";
import { layoutOf, ModelQuantizer } from "./model-quantizer.js";

export interface CodedBlock extends LoadedCodes {
  readonly model: CodedModel;
  /** Where the block lies. */
  readonly at: number;
  /** The list whose centroid all rows are coded around; undefined where they differ. */
  readonly reference: number | undefined;
  /** Rows without a direction, whose reference centroid here is another. */
  readonly noCentroid: readonly number[];
}

/** A codec whose rows can move between blocks without the vectors that they were made from. */
export interface RowCodec extends Codec {
  readonly model: CodedModel;
  readonly rowBytes: number;
  /** The row codes of a block of n rows. */
  unpack(codes: Uint8Array, n: number): Uint8Array;
  /** A block of row codes. */
  pack(rows: Uint8Array): Uint8Array;
  /** Row codes of vectors of some lists, layout (n, dimension). Only where the codec was made to encode. */
  encodeRows(vectors: Float32Array, lists: Uint32Array): Uint8Array;
  /** The points in list space that row codes stand for, approximately, layout (n, dimension). */
  decodeRows(rows: Uint8Array): Float32Array;
}

/** Whether an index's trained rows are codes alone. */
export function keepsCodesOnly({ type }: IndexConfig): boolean {
  return type !== "ivfflat";
}

export function isRowCodec(codec: Codec): codec is RowCodec {
  return "unpack" in codec;
}

/** What reading needs after a block in kernel memory. */
const slackBytes = 16;

/** `quantizer` is needed for encoding. Decoding gives points in list space, approximately. */
export function codedCodec(
  config: IndexConfig,
  model: CodedModel,
  quantizer: ModelQuantizer | undefined,
): RowCodec {
  const layout = layoutOf(config, model.dimension);
  const rowBytes = rowCodeBytes(layout);
  const directions = config.metric === "cosine";
  const encodeRows = (vectors: Float32Array, lists: Uint32Array) => {
    if (quantizer === undefined) throw new TypeError("this codec was made to read");
    return quantizer.encode(toListSpace(config.metric, vectors, model.dimension), lists, directions);
  };
  const decodeRows = (rows: Uint8Array) => {
    const reader = quantizer ?? new ModelQuantizer(config, model);
    const points = reader.decode(rows);
    if (quantizer === undefined) reader.free();
    return points;
  };
  return {
    model,
    exact: false,
    rowBytes,
    codeBytes: (n) => blockBytes(layout, n),
    unpack: (codes, n) => unpackBlock(layout, codes, n),
    pack: (rows) => packBlock(layout, rows),
    encodeRows,
    decodeRows,
    *encode(vectors, list) {
      const lists = new Uint32Array(vectors.length / model.dimension).fill(list);
      yield;
      return [packBlock(layout, encodeRows(vectors, lists))];
    },
    decode: (codes, n) => decodeRows(unpackBlock(layout, codes, n)),
    pick(codes, rows) {
      const { at, n, noCentroid: lost } = codes as CodedBlock;
      const picked = unpackRows(layout, bytesAt(at, blockBytes(layout, n)), n, rows);
      const view = new DataView(picked.buffer);
      rows.forEach((row, i) => {
        if (lost.includes(row)) view.setUint32(i * rowBytes, noCentroid, true);
      });
      return decodeRows(picked);
    },
    load: (codes, n, fingerprints) => loadBlock(layout, model, codes, n, fingerprints),
  };
}

function loadBlock(
  layout: CodeLayout,
  model: CodedModel,
  codes: Uint8Array,
  n: number,
  fingerprints: number,
): CodedBlock {
  const length = blockBytes(layout, n);
  const bytes = blockLayout.bytes + length + slackBytes;
  const record = allocate(bytes);
  writeBlockRecord(record, { n, fingerprints });
  const at = record + blockLayout.bytes;
  bytesAt(at, length).set(codes.subarray(0, length));
  const references = wordsAt(at, n);
  const lost: number[] = [];
  let reference: number | undefined;
  let mixed = false;
  for (let row = 0; row < n; row++) {
    if (references[row] === noCentroid) {
      lost.push(row);
      // Kernels look up every row's base; this row's estimate is replaced afterwards.
      references[row] = 0;
    } else if (reference === undefined) reference = references[row];
    else if (references[row] !== reference) mixed = true;
  }
  const common = mixed ? undefined : reference;
  return { n, bytes, record, model, at, reference: common, noCentroid: lost, free: () => free(record) };
}

export function isCoded(codes: LoadedCodes): codes is CodedBlock {
  return "model" in codes;
}
