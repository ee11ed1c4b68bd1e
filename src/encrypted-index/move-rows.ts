/**
 * Rows on their way from old segments to new ones. Rows that are codes alone stay as they are wherever the new model reads
 * them: what was once rounded is not rounded again, however often rows are compacted or grouped anew.
 */

import { isRowCodec } from "../engine/coded.js";
import type { IndexConfig } from "../engine/config.js";
import { reads } from "../engine/train-quantizer.js";
import type { CodedRows, Encoding } from "../segment/segment-writer.js";
import { yieldToEventLoop } from "../threads/yield-to-event-loop.js";
import { type LiveBlock, liveVectors } from "./live-blocks.js";

/** Vectors, layout (rows, dimension), or codes of rows. */
export type Moved = Float32Array | CodedRows;

/** Rows encoded between two turns of the event loop. */
const rowsTogether = 512;

/** The live rows of a block, for a segment under the model with this name and encoding. */
export async function move(
  live: LiveBlock,
  { codec, quantizer, toListSpace }: Encoding,
  modelName: string | undefined,
  config: IndexConfig,
): Promise<Moved> {
  const { segment, block, kept } = live;
  if (!isRowCodec(codec) || quantizer === undefined) return liveVectors(live);
  const source = segment.reader.codec;
  const lists = new Uint32Array(kept.length).fill(block.list);
  if (isRowCodec(source) && reads(config, codec.model.quantizer, source.model.quantizer)) {
    const codes = chosenRows(source.unpack(live.codes, block.rows), source.rowBytes, kept);
    if (segment.ref.model === modelName) return { codes, lists };
    const pieceBytes = rowsTogether * codec.rowBytes;
    for (let at = 0; at * codec.rowBytes < codes.length; at += rowsTogether) {
      const start = at * codec.rowBytes;
      const points = toListSpace(codec.decodeRows(codes.subarray(start, start + pieceBytes)));
      lists.set(quantizer.assign(points), at);
      await yieldToEventLoop();
    }
    return { codes, lists };
  }
  const vectors = liveVectors(live);
  const dimension = vectors.length / kept.length;
  const codes = new Uint8Array(kept.length * codec.rowBytes);
  for (let at = 0; at < kept.length; at += rowsTogether) {
    const piece = vectors.subarray(at * dimension, (at + rowsTogether) * dimension);
    const assigned = quantizer.assign(toListSpace(piece));
    lists.set(assigned, at);
    codes.set(codec.encodeRows(piece, assigned), at * codec.rowBytes);
    await yieldToEventLoop();
  }
  return { codes, lists };
}

/** One after the other; all are of one kind, since they go to one encoding. */
export async function joinMoved(parts: readonly Moved[]): Promise<Moved> {
  const vectors: Float32Array[] = [];
  const coded: CodedRows[] = [];
  for (const part of parts) {
    if (part instanceof Float32Array) vectors.push(part);
    else coded.push(part);
  }
  if (coded.length === 0) {
    return join(vectors, new Float32Array(vectors.reduce((sum, part) => sum + part.length, 0)));
  }
  const rows = coded.reduce((sum, { lists }) => sum + lists.length, 0);
  const bytes = coded.reduce((sum, { codes }) => sum + codes.length, 0);
  const codes = await join(
    coded.map((part) => part.codes),
    new Uint8Array(bytes),
  );
  const lists = await join(
    coded.map((part) => part.lists),
    new Uint32Array(rows),
  );
  return { codes, lists };
}

/** Copies the parts to where they belong, letting other work run in between. */
async function join<T extends Float32Array | Uint8Array | Uint32Array>(
  parts: readonly T[],
  to: T,
): Promise<T> {
  let at = 0;
  for (const part of parts) {
    to.set(part, at);
    at += part.length;
    await yieldToEventLoop();
  }
  return to;
}

function chosenRows(rows: Uint8Array, rowBytes: number, chosen: readonly number[]): Uint8Array {
  if (chosen.length * rowBytes === rows.length) return rows;
  const kept = new Uint8Array(chosen.length * rowBytes);
  chosen.forEach((row, at) => kept.set(rows.subarray(row * rowBytes, (row + 1) * rowBytes), at * rowBytes));
  return kept;
}
