/** Items as callers give them to a batch of rows: everything is checked here, before anything is written. */

import { fingerprint, type LastingKeys } from "../crypto/keys.js";
import type { Embedder } from "../embedding/embedder.js";
import { isImage } from "../embedding/image.js";
import { SealdexError } from "../errors.js";
import { type IndexConfig, type Metric, normMax } from "../engine/config.js";
import { roundVectors } from "../engine/scalar.js";
import { rowsOfPiece } from "../engine/work.js";
import {
  checkFloat32,
  checkText,
  checkVectorShape,
  invalid,
  losslessJson,
  typeName,
} from "../check-input.js";
import { JsonText } from "../json-text.js";
import { itemFields } from "../method-options.js";
import { checkOptions } from "../option-names.js";
import { encodeRecord, type Row } from "../segment/row.js";
import type { Item, Metadata, Vector } from "../vector-index.js";
import { packImage, packText } from "./pack-contents.js";
import { forEachYielding } from "../threads/yield-to-event-loop.js";
import { isDate, isFloat32Array } from "../value-kinds.js";

const idBytesMax = 512;
export const metadataBytesMax = 64 * 1024;

export interface PackedItems {
  readonly rows: readonly Row[];
  /** Layout (rows, dimension). */
  readonly vectors: Float32Array;
  readonly dimension: number;
}

/** An item as it is to be stored. */
export interface CheckedItem {
  readonly row: Row;
  /** The caller's; undefined if the text is to be embedded. */
  readonly vector: Vector | undefined;
  readonly text: string;
  /** In the caller's list. */
  readonly position: number;
}

/** What items are packed for. */
export interface Packing extends Pick<IndexConfig, "metric" | "precision"> {
  /** The index's; undefined to take the first vector's. */
  readonly dimension: number | undefined;
  readonly embedder: Embedder | undefined;
}

/** Checks items, all but the components of vectors. Of equal ids the last stays. Throws `invalid_request`, naming the item by its position. */
export async function checkItems(
  items: readonly Item[],
  keys: Pick<LastingKeys, "id">,
  embedder: Embedder | undefined,
): Promise<CheckedItem[]> {
  if (!Array.isArray(items)) throw invalid(`items: expected an array, got ${typeName(items)}`);
  // The array belongs to the caller, who may change it while the event loop turns.
  const own: readonly Item[] = Array.from(items);
  const last = new Map<string, number>();
  await forEachYielding(own.length, (i) => last.set(checkId(own[i], i), i));
  const kept = [...last.values()];
  const checked: CheckedItem[] = [];
  const check = (at: number) => {
    const position = kept[at];
    const item = own[position];
    const row = packRow(item, position, keys);
    const vector = checkPresent(item, position, embedder);
    const text = typeof item.contents === "string" ? item.contents : "";
    checked.push({ row, vector, text, position });
  };
  // Contents and metadata of one item take up to some milliseconds.
  await forEachYielding(kept.length, check, 1);
  // One after the other: of a batch of images only one is in memory.
  for (const [at, { row, vector, position }] of checked.entries()) {
    if (!isImage(own[position].contents)) continue;
    const image = await packImage(own[position], position, embedder);
    const packed = { ...row, contents: image.contents };
    checked[at] = { row: packed, vector: vector ?? image.vector, text: "", position };
  }
  return checked;
}

/**
 * Packs the items, embedding the texts of those without a vector. Throws `invalid_request` or `dimension_mismatch`, naming the
 * item by its position.
 */
export async function packItems(
  items: readonly CheckedItem[],
  { metric, precision, dimension, embedder }: Packing,
): Promise<PackedItems> {
  const texts = items.filter(({ vector }) => vector === undefined).map(({ text }) => text);
  const embedded = texts.length > 0 ? await (embedder as Embedder).embedDocuments(texts) : [];
  let next = 0;
  const all = items.map(({ vector }) => vector ?? embedded[next++]);
  const size = dimension ?? all[0]?.length ?? 0;
  const vectors = new Float32Array(all.length * size);
  const copy = (at: number) => {
    const to = vectors.subarray(at * size, (at + 1) * size);
    copyVector(all[at], to, metric, `items[${items[at].position}].vector`);
  };
  await forEachYielding(all.length, copy, 8);
  if (precision !== undefined) {
    const rowsTogether = rowsOfPiece(4 * size);
    const round = (piece: number) => {
      const start = piece * rowsTogether * size;
      roundVectors(vectors.subarray(start, start + rowsTogether * size), precision, size);
    };
    await forEachYielding(Math.ceil(all.length / rowsTogether), round, 1);
  }
  return { rows: items.map(({ row }) => row), vectors, dimension: size };
}

/**
 * Copies a vector to `to`, which has the length of the index's vectors. Throws `dimension_mismatch` if the lengths differ,
 * `invalid_request` for a component that is not finite as float32, or a norm beyond what the metric can compute with.
 */
export function copyVector(vector: Vector, to: Float32Array, metric: Metric, where: string): void {
  const { length } = to;
  if (vector.length !== length) {
    throw new SealdexError(
      "dimension_mismatch",
      `${where}: expected ${length} numbers, got ${vector.length}`,
    );
  }
  if (isFloat32Array(vector)) to.set(vector);
  else {
    for (let i = 0; i < length; i++) {
      const value: unknown = vector[i];
      to[i] = typeof value === "number" ? value : Number.NaN;
    }
  }
  let squares = 0;
  for (let i = 0; i < length; i++) squares += to[i] * to[i];
  // Squares of finite float32 have a finite sum in float64: only if it is not, some component is invalid.
  if (!(squares < Infinity)) for (let i = 0; i < length; i++) checkFloat32(vector[i], where, i);
  if (metric !== "cosine" && Math.sqrt(squares) > normMax) {
    throw invalid(
      `${where}: expected a Euclidean norm of at most ${normMax} under ${metric}, got a greater one`,
    );
  }
}

export function checkIdText(id: unknown, where: string): asserts id is string {
  checkText(id, where);
  const bytes = Buffer.byteLength(id, "utf8");
  if (bytes === 0 || bytes > idBytesMax) {
    throw invalid(`${where}: expected 1 to ${idBytesMax} bytes of UTF-8, got ${bytes}`);
  }
}

function checkId(item: unknown, i: number): string {
  if (typeof item !== "object" || item === null)
    throw invalid(`items[${i}]: expected an object, got ${typeName(item)}`);
  const { id } = item as { id?: unknown };
  checkOptions(item, itemFields, `items[${i}]`);
  checkIdText(id, `items[${i}].id`);
  return id;
}

function packRow(item: Item, i: number, keys: Pick<LastingKeys, "id">): Row {
  const json = metadataJson(item.metadata ?? {}, `items[${i}].metadata`);
  return {
    fingerprint: fingerprint(keys.id, item.id),
    record: encodeRecord({
      id: item.id,
      metadataJson: json,
      expiresAt: expiryOf(item.expiresAt, `items[${i}].expiresAt`),
    }),
    contents: packText(item, i),
  };
}

/** In milliseconds since 1970. */
function expiryOf(expiresAt: unknown, where: string): number | undefined {
  if (expiresAt === undefined || expiresAt === null) return undefined;
  const time = isDate(expiresAt) ? expiresAt.getTime() : expiresAt;
  // A date holds whole milliseconds, so many at most.
  if (typeof time === "number" && !Number.isNaN(new Date(time).getTime())) return Math.trunc(time);
  const received = isDate(expiresAt) ? "an invalid one" : typeName(expiresAt);
  throw invalid(`${where}: expected a Date or milliseconds since 1970, got ${received}`);
}

function metadataJson(metadata: Metadata, where: string): string {
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) {
    throw invalid(`${where}: expected an object, got ${typeName(metadata)}`);
  }
  const json = metadata instanceof JsonText ? metadata.text : losslessJson(metadata, where);
  const bytes = Buffer.byteLength(json, "utf8");
  if (bytes > metadataBytesMax) {
    throw invalid(`${where}: expected at most ${metadataBytesMax} bytes of JSON, got ${bytes}`);
  }
  return json;
}

function checkPresent(item: Item, i: number, embedder: Embedder | undefined): Vector | undefined {
  if (item.vector !== undefined && item.vector !== null) {
    checkVectorShape(item.vector, `items[${i}].vector`);
    return item.vector;
  }
  if (embedder === undefined) {
    throw invalid(`items[${i}].vector: expected a vector, got none (the index has no embedding model)`);
  }
  if (typeof item.contents !== "string" && !isImage(item.contents)) {
    throw invalid(`items[${i}]: expected a vector, or contents to embed, got neither`);
  }
  return undefined;
}
