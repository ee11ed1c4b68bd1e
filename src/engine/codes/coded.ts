/**
 * Codes of a trained index that keeps no vectors, `ivf` and `ivfpq`: blocks of row codes (see code-layout.ts). Distances are
 * estimates, never NaN and never below 0; under `cosine` never above 2.
 */

import { SealdexError } from "../../errors.js";
import type { IndexConfig } from "../config.js";
import { blockLayout, rowCodesLayout } from "../kernels/kernels.wasm.js";
import { allocate, bytesAt, free, wordsAt, writeWords } from "../kernels/memory.js";
import { toListSpace } from "../metric.js";
import type { CodedModel } from "../model.js";
import { writeBlockStruct } from "./block-struct.js";
import {
  bitOffsetOf,
  blockBytes,
  blockSections,
  codewordAt,
  codeWords,
  noCentroid,
  packBlock,
  productLayout,
  rowCodeBytes,
  unpackBlock,
  unpackRows,
} from "./code-layout.js";
import { checkLength, type RowCodes, type Sections } from "./code-sections.js";
import type { LoadedRowCodes, RowCodec } from "./codec.js";
import { decodeRows, layoutOf, type ModelQuantizer } from "./model-quantizer.js";

/** Whether the rows of a trained index are codes without vectors. */
export function keepsCodesOnly({ type }: IndexConfig): boolean {
  return type !== "ivfflat";
}

/** Kernels read up to this many bytes beyond a block. */
const slackBytes = 16;

/** Encoding needs `quantizer`, which stays the caller's. Decoding returns points in list space, approximately. */
export function codedCodec(
  config: IndexConfig,
  model: CodedModel,
  quantizer: ModelQuantizer | undefined,
): RowCodec {
  const layout = layoutOf(config, model.dimension);
  const rowBytes = rowCodeBytes(layout);
  const sections: Sections = (n) => blockSections(layout, n);
  const directions = config.metric === "cosine";
  const encodeRows = (vectors: Float32Array, lists: Uint32Array) => {
    if (quantizer === undefined) throw new TypeError("this codec was created to read");
    return quantizer.encode(toListSpace(config.metric, vectors, model.dimension), lists, directions);
  };
  const decode = (rows: Uint8Array, random?: () => number) =>
    quantizer === undefined
      ? decodeRows(config, model.dimension, model.quantizer, rows, random)
      : quantizer.decode(rows, random);
  return {
    kind: "codes",
    model,
    rowBytes,
    rowCost: quantizer?.rowCost ?? 0,
    codeBytes: (n) => blockBytes(layout, n),
    check(rows) {
      checkLength(rows, sections);
      checkReferences(rows, model, directions);
      checkCodewords(rows, model, config);
    },
    unpack: (codes, n, chosen) =>
      chosen === undefined ? unpackBlock(layout, codes, n) : unpackRows(layout, codes, n, chosen),
    pack: (rows) => packBlock(layout, rows),
    encodeRows,
    decodeRows: decode,
    decode: (codes, n) => decode(unpackBlock(layout, codes, n)),
    load({ codes, n }, fingerprints) {
      const length = blockBytes(layout, n);
      const structBytes = blockLayout.bytes + rowCodesLayout.bytes;
      const address = allocate(structBytes + length + slackBytes);
      const rowCodes = address + blockLayout.bytes;
      writeBlockStruct(address, { n, dimension: model.dimension, fingerprints, rowCodes });
      const at = address + structBytes;
      bytesAt(at, length).set(codes);
      const references = readReferences(at, n);
      const { reference, noCentroid: undirected } = references;
      const undirectedAt = undirected.length > 0 ? allocate(4 * undirected.length) : 0;
      wordsAt(undirectedAt, undirected.length).set(undirected);
      writeWords(rowCodes, rowCodesLayout, {
        codes: at,
        reference: reference ?? 0,
        differ: reference === undefined ? 1 : 0,
        undirected: undirectedAt,
        nUndirected: undirected.length,
      });
      const gatherCodes = (rows: readonly number[]) => {
        const gathered = unpackRows(layout, bytesAt(at, length), n, rows);
        const view = new DataView(gathered.buffer);
        rows.forEach((row, i) => {
          if (references.noCentroid.includes(row)) view.setUint32(i * rowBytes, noCentroid, true);
        });
        return gathered;
      };
      return {
        kind: "codes",
        n,
        bytes: structBytes + length + slackBytes + 4 * undirected.length,
        address,
        model,
        ...references,
        gatherCodes,
        gather: (rows) => decode(gatherCodes(rows)),
        free() {
          if (undirectedAt > 0) free(undirectedAt);
          free(address);
        },
      };
    },
  };
}

/** Throws `corrupt` unless each row has a reference centroid of the model or, of `directions`, none. */
function checkReferences({ codes, n }: RowCodes, { quantizer, dimension }: CodedModel, directions: boolean) {
  // A copy, which is aligned.
  const references = new Uint32Array(new Uint8Array(codes.subarray(0, 4 * n)).buffer);
  const count = quantizer.references.length / dimension;
  for (let row = 0; row < n; row++) {
    const reference = references[row];
    if (reference < count || (directions && reference === noCentroid)) continue;
    throw misfit(`a reference centroid below ${count}, got ${reference}`);
  }
}

/** Throws `corrupt` unless each row has codewords of the model. */
function checkCodewords({ codes, n }: RowCodes, { quantizer, dimension }: CodedModel, config: IndexConfig) {
  if (quantizer.codebooks === undefined) return;
  const k = quantizer.codebooks.codewords.length / dimension;
  const layout = productLayout(config);
  // All numbers of this many bits are codewords.
  if (k === 2 ** layout.bits) return;
  const offsets = Uint32Array.from({ length: layout.subspaces }, (_, i) => bitOffsetOf(layout, i));
  // Where bits of a row stay together, they are read where they are.
  const [bytes, first, rowBytes] =
    layout.nibbles === 0
      ? [codes, 4 * codeWords * n, layout.bitBytes]
      : [unpackBlock(layout, codes, n), 4 * codeWords, rowCodeBytes(layout)];
  for (let at = first; at < bytes.length; at += rowBytes) {
    for (const offset of offsets) {
      const codeword = codewordAt(bytes, 8 * at + offset, layout.bits);
      if (codeword >= k) throw misfit(`a codeword below ${k}, got ${codeword}`);
    }
  }
}

function misfit(what: string): SealdexError {
  return new SealdexError("corrupt", `code block: expected ${what}`);
}

/** The common part of the n references at the beginning of a block. Missing ones are replaced by 0 in memory. */
function readReferences(at: number, n: number): Pick<LoadedRowCodes, "reference" | "noCentroid"> {
  const references = wordsAt(at, n);
  const missing: number[] = [];
  let first: number | undefined;
  let differ = false;
  for (let row = 0; row < n; row++) {
    if (references[row] === noCentroid) {
      missing.push(row);
      // Kernels look up the base of every row; the estimate of this one is replaced afterwards.
      references[row] = 0;
    } else if (first === undefined) first = references[row];
    else if (references[row] !== first) differ = true;
  }
  return { reference: differ ? undefined : (first ?? 0), noCentroid: missing };
}
