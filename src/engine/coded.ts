/**
 * Codes of a trained index that keeps no vectors, `ivf` and `ivfpq`: a block of row codes (see code-layout.ts). Distances are
 * estimates, never NaN and never below zero; under `cosine` never above 2. What float32 cannot hold the squares of is
 * estimated as far away.
 */

import { blockRecordBytes, writeBlockRecord } from "./block-record.js";
import type { Codec, LoadedCodes } from "./codec.js";
import {
  blockBytes,
  type CodeLayout,
  nowhere,
  packBlock,
  rowCodeBytes,
  unpackBlock,
  unpackRows,
} from "./code-layout.js";
import type { IndexConfig } from "./config.js";
import { allocate, bytesAt, free, wordsAt } from "./kernels/memory.js";
import { toListSpace } from "./metric.js";
import type { CodedModel } from "./model.js";
import { layoutOf, ModelCoder } from "./model-quantizer.js";

export interface CodedBlock extends LoadedCodes {
  readonly model: CodedModel;
  /** Where the block lies. */
  readonly at: number;
  /** The list whose centroid all rows are coded around; undefined where they differ. */
  readonly anchor: number | undefined;
  /** Rows without a direction, whose anchor here is another. */
  readonly nowhere: readonly number[];
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

/** `coder` is needed for encoding. Decoding gives points in list space, approximately. */
export function codedCodec(config: IndexConfig, model: CodedModel, coder: ModelCoder | undefined): RowCodec {
  const layout = layoutOf(config, model.dimension);
  const rowBytes = rowCodeBytes(layout);
  const directions = config.metric === "cosine";
  const encodeRows = (vectors: Float32Array, lists: Uint32Array) => {
    if (coder === undefined) throw new TypeError("this codec was made to read");
    return coder.encode(toListSpace(config.metric, vectors, model.dimension), lists, directions);
  };
  const decodeRows = (rows: Uint8Array) => {
    const reader = coder ?? new ModelCoder(config, model);
    const points = reader.decode(rows);
    if (coder === undefined) reader.free();
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
      const { at, n, nowhere: lost } = codes as CodedBlock;
      const picked = unpackRows(layout, bytesAt(at, blockBytes(layout, n)), n, rows);
      const view = new DataView(picked.buffer);
      rows.forEach((row, i) => {
        if (lost.includes(row)) view.setUint32(i * rowBytes, nowhere, true);
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
  const bytes = blockRecordBytes + length + slackBytes;
  const record = allocate(bytes);
  writeBlockRecord(record, { n, fingerprints });
  const at = record + blockRecordBytes;
  bytesAt(at, length).set(codes.subarray(0, length));
  const anchors = wordsAt(at, n);
  const lost: number[] = [];
  let anchor: number | undefined;
  let mixed = false;
  for (let row = 0; row < n; row++) {
    if (anchors[row] === nowhere) {
      lost.push(row);
      // Kernels look up every row's base; this row's estimate is replaced afterwards.
      anchors[row] = 0;
    } else if (anchor === undefined) anchor = anchors[row];
    else if (anchors[row] !== anchor) mixed = true;
  }
  const common = mixed ? undefined : anchor;
  return { n, bytes, record, model, at, anchor: common, nowhere: lost, free: () => free(record) };
}

export function isCoded(codes: LoadedCodes): codes is CodedBlock {
  return "model" in codes;
}
