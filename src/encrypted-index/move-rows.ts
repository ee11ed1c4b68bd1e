/**
 * Rows that move from old segments to new ones. Row codes stay as they are if the new model can read them: what was rounded
 * once is not rounded again, however often rows are compacted or regrouped.
 */

import type { IndexConfig } from "../engine/config.js";
import { reads } from "../engine/train-quantizer.js";
import { rowsOfPiece } from "../engine/work.js";
import {
  type CodedRows,
  codedRows,
  type Encoding,
  vectorRows,
  type VectorRows,
} from "../segment/row-source.js";
import { run } from "../threads/run.js";
import { yieldToEventLoop } from "../threads/yield-to-event-loop.js";
import { type LiveBlock, liveVectors } from "./live-blocks.js";

export type MovedRows = VectorRows | CodedRows;

/** The live rows of a block, for a segment under the model with this name and encoding. */
export async function move(
  live: LiveBlock,
  { codec, quantizer }: Encoding,
  modelName: string | undefined,
  config: IndexConfig,
): Promise<MovedRows> {
  const { segment, block, kept } = live;
  const { codec: stored, footer } = segment.reader;
  if (codec.kind !== "codes" || quantizer === undefined) {
    return vectorRows([liveVectors(live)], footer.dimension);
  }
  const { rowBytes, rowCost } = codec;
  const { dimension } = footer;
  if (stored.kind === "codes" && reads(config, codec.model.quantizer, stored.model.quantizer)) {
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
    codes.set(
      codec.encodeRows(rowsAt(at, rowsTogether), lists.subarray(at, at + rowsTogether)),
      at * rowBytes,
    );
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
    if (part.kind === "vectors") vectors.push(...part.parts);
    else {
      codes.push(part.codes);
      lists.push(part.lists);
    }
  }
  if (codes.length === 0) return vectorRows(vectors, dimension);
  return codedRows(
    await join(codes, new Uint8Array(total(codes))),
    await join(lists, new Uint32Array(total(lists))),
  );
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
