/**
 * Rows that move from old segments to new ones. Row codes stay as they are, since an index keeps its quantizer: a vector that was rounded
 * once is not rounded again, however often rows are compacted or regrouped.
 */

import type { CoarseQuantizer } from "../../engine/lists/coarse-quantizer.js";
import type { RowCodec } from "../../engine/codes/codec.js";
import { rowsOfPiece } from "../../engine/work.js";
import {
  type CodedRows,
  codedRows,
  codesAt,
  type Encoding,
  vectorRows,
  type VectorRows,
} from "../../state/segment/row-source.js";
import { run } from "../../engine/threads/run.js";
import { yieldToEventLoop } from "../../async/event-loop.js";
import { type LiveBlock, liveVectors } from "./live-blocks.js";

export type MovedRows = VectorRows | CodedRows;

/** The live rows of a block, for a segment under the model with this name and encoding. */
export async function move(
  live: LiveBlock,
  encoding: Encoding,
  modelName: string | undefined,
): Promise<MovedRows> {
  return isCoded(encoding)
    ? moveCodes(live, encoding, modelName)
    : vectorRows([liveVectors(live)], live.segment.reader.footer.dimension);
}

/** An encoding of rows as codes without vectors. */
export interface CodedEncoding extends Encoding {
  readonly codec: RowCodec;
  readonly quantizer: CoarseQuantizer;
}

export function isCoded(encoding: Encoding): encoding is CodedEncoding {
  return encoding.codec.kind === "codes" && encoding.quantizer !== undefined;
}

/** As `move`. */
export async function moveCodes(
  live: LiveBlock,
  encoding: CodedEncoding,
  modelName: string | undefined,
): Promise<CodedRows> {
  const { codec, quantizer } = encoding;
  const { segment, block, kept } = live;
  const { codec: stored, footer } = segment.reader;
  const { rowBytes, rowCost } = codec;
  const { dimension } = footer;
  if (stored.kind === "codes") {
    const codes = stored.unpack(live.codes, block.rows, kept);
    if (segment.ref.model === modelName) {
      return codedRows(codes, new Uint32Array(kept.length).fill(block.list));
    }
    const pointsOf = (first: number, count: number) =>
      codec.decodeRows(codes.subarray(first * rowBytes, (first + count) * rowBytes));
    return codedRows(codes, await run(quantizer.assignAll(kept.length, pointsOf)));
  }
  const vectors = liveVectors(live);
  const rowsAt = (first: number, count: number) =>
    vectors.subarray(first * dimension, (first + count) * dimension);
  const lists = await run(quantizer.assignAll(kept.length, rowsAt));
  const codes = new Uint8Array(kept.length * rowBytes);
  const rowsTogether = rowsOfPiece(4 * dimension, rowCost);
  for (let at = 0; at < kept.length; at += rowsTogether) {
    const some = lists.subarray(at, at + rowsTogether);
    codes.set(await run(codec.encodeRows(rowsAt(at, rowsTogether), some)), at * rowBytes);
    await yieldToEventLoop();
  }
  return codedRows(codes, lists);
}

/** The rows of all parts, in their order. All parts are of one kind, since they were moved to one encoding. */
export async function joinMoved(parts: readonly MovedRows[], dimension: number): Promise<MovedRows> {
  const vectors: Float32Array[] = [];
  const codes: Uint8Array[] = [];
  const lists: Uint32Array[] = [];
  for (const part of parts) {
    if (part.lists !== undefined) lists.push(part.lists);
    if (part.kind === "vectors") vectors.push(...part.parts);
    else codes.push(part.codes);
  }
  const known = lists.length === 0 ? undefined : await join(lists, new Uint32Array(total(lists)));
  if (codes.length === 0 || known === undefined) return vectorRows(vectors, dimension, known);
  return codedRows(await join(codes, new Uint8Array(total(codes))), known);
}

/** Copies of the rows at these positions, which are in these lists. */
export function copyMoved(
  rows: MovedRows,
  positions: Uint32Array,
  lists: Uint32Array,
  dimension: number,
): MovedRows {
  if (rows.kind === "vectors") return vectorRows([rows.vectorsAt(positions)], dimension, lists);
  const codes = codesAt(rows.codes, rows.codes.length / rows.lists.length, positions);
  return codedRows(codes, lists);
}

function total(parts: readonly { readonly length: number }[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** Copies the parts to `to`, one after the other, letting other work run in between. */
async function join<T extends Uint8Array | Uint32Array>(parts: readonly T[], to: T): Promise<T> {
  let at = 0;
  for (const part of parts) {
    to.set(part, at);
    at += part.length;
    await yieldToEventLoop();
  }
  return to;
}
