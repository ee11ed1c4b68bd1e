/**
 * Items as callers give them to a batch of rows: everything is checked here, before anything is written.
 *
 * `takeItems` takes all that can change from the caller's objects, at once; the rest may wait for other work of the process.
 */

import { itemFields } from "../api/method-options.js";
import type { Item, Vector } from "../api/vector-index.js";
import { forEachYielding } from "../async/event-loop.js";
import { checkFloat32, checkIdText, checkVectorShape, invalid, typeName } from "../checks/input.js";
import { takeJson } from "../checks/json-text.js";
import { isDate, isFloat32Array } from "../checks/value-kinds.js";
import { fingerprint, type LastingKeys } from "../crypto/keys.js";
import { type EmbeddedVector, type Embedder, embedImages } from "../embedding/embedder.js";
import { type Image, isImage, type Keep, takeImage } from "../embedding/image.js";
import { keptText, readImage } from "../embedding/read-image.js";
import { roundVectors } from "../engine/codes/scalar.js";
import { type IndexConfig, type Metric, normMax } from "../engine/config.js";
import { rowsOfPiece } from "../engine/work.js";
import { dimensionMismatch } from "./open/dimension.js";
import { encodeRecord, type Row } from "../state/segment/row.js";
import { takeOwnOptions } from "./take-options.js";

export const metadataBytesMax = 64 * 1024;

export interface PackedItems {
  readonly rows: readonly Row[];
  /** Layout (rows, dimension). */
  readonly vectors: Float32Array;
  readonly dimension: number;
}

/** The index that items are packed for. */
interface Packing extends Pick<IndexConfig, "metric" | "precision"> {
  /** The index's; undefined to take the first vector's. */
  readonly dimension: number | undefined;
  readonly embedder: Embedder | undefined;
}

/** The rest of an item when its vector is taken. */
interface TakenItem extends Pick<Item, "keep"> {
  readonly id: string;
  readonly metadataJson: string;
  /** In milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  readonly contents: string | Image | undefined;
  readonly hasVector: boolean;
  /** In the caller's list. */
  readonly position: number;
}

/** Items without a reference to anything that the caller can change. */
interface TakenItems {
  readonly items: readonly TakenItem[];
  /** Layout (items, dimension): of those that have a vector. */
  readonly vectors: Float32Array;
  /** Undefined as long as no vector says it. */
  readonly dimension: number | undefined;
}

/** An item as it is to be stored. */
interface CheckedItem {
  readonly row: Row;
  readonly hasVector: boolean;
  /** Of an image that has none of the caller's. */
  readonly embedded: EmbeddedVector | undefined;
  /** To be embedded if there is no vector. */
  readonly text: string;
  readonly position: number;
}

/** As `TakenItems`. The vectors are rounded as the index keeps them. */
export interface CheckedItems extends Omit<TakenItems, "items"> {
  readonly items: readonly CheckedItem[];
}

/**
 * Takes the items from the caller, their vectors straight into the rows that are stored. Of equal ids the last stays. Waits for nothing.
 * Throws `invalid_request` or `dimension_mismatch`, naming the item by its position.
 */
export function takeItems(items: readonly Item[], { metric, dimension, embedder }: Packing): TakenItems {
  if (!Array.isArray(items)) throw invalid(`items: expected an array, got ${typeName(items)}`);
  const last = new Map<string, number>();
  const all = Array.from(items as readonly Item[], (item, i) => {
    const own = takeFields(item, i);
    last.set(own.id, i);
    return own;
  });
  const kept = last.size === all.length ? all.keys() : [...last.values()];
  const size = dimension ?? firstLength(all, last.values());
  const vectors = new Float32Array(last.size * (size ?? 0));
  const taken: TakenItem[] = [];
  for (const position of kept) {
    const item = all[position];
    const where = `items[${position}]`;
    const hasVector = checkPresent(item, where, embedder);
    checkContents(item, where);
    if (hasVector && size !== undefined) {
      const at = taken.length * size;
      copyVector(item.vector as Vector, vectors.subarray(at, at + size), metric, `${where}.vector`);
    }
    const { id, contents = undefined, keep } = item;
    taken.push({
      id,
      metadataJson: takeJson(item.metadata ?? {}, `${where}.metadata`).text,
      expiresAt: expiryOf(item.expiresAt, `${where}.expiresAt`),
      contents: isImage(contents) ? takeImage(contents) : (contents ?? undefined),
      keep,
      hasVector,
      position,
    });
  }
  return { items: taken, vectors, dimension: size };
}

/** Makes rows of the items, and embeds their images. Throws `invalid_request`, naming the item by its position. */
export async function checkItems(
  { items, vectors, dimension }: TakenItems,
  keys: Pick<LastingKeys, "id">,
  { precision, embedder }: Packing,
): Promise<CheckedItems> {
  const checked: CheckedItem[] = [];
  const check = (at: number) => {
    const { contents, hasVector, position } = items[at];
    const row = packRow(items[at], keys);
    const text = typeof contents === "string" ? contents : "";
    checked.push({ row, hasVector, embedded: undefined, text, position });
  };
  // Texts and metadata of one item take up to some milliseconds.
  await forEachYielding(items.length, check, 1);
  // One after the other: of a batch of images only one is in memory.
  for (const [at, item] of checked.entries()) {
    const { contents: image, keep, hasVector, position } = items[at];
    if (!isImage(image)) continue;
    const embedding = hasVector ? undefined : embedder;
    const { contents, vector } = await packImage(image, keep, `items[${position}].contents`, embedding);
    checked[at] = { ...item, row: { ...item.row, contents }, embedded: vector };
  }
  if (precision !== undefined && dimension !== undefined) await round(vectors, precision, dimension);
  return { items: checked, vectors, dimension };
}

async function round(vectors: Float32Array, precision: Packing["precision"] & string, dimension: number) {
  const together = rowsOfPiece(4 * dimension) * dimension;
  const piece = (i: number) =>
    roundVectors(vectors.subarray(i * together, (i + 1) * together), precision, dimension);
  await forEachYielding(Math.ceil(vectors.length / together), piece, 1);
}

/**
 * The items at these positions as rows, embedding the texts of those without a vector. Throws `dimension_mismatch` or `invalid_request`
 * for an invalid result of the model.
 */
export async function packItems(
  checked: CheckedItems,
  positions: readonly number[],
  packing: Packing,
): Promise<PackedItems> {
  const { items, vectors } = checked;
  const { metric, precision, embedder } = packing;
  const texts = positions.filter((at) => !items[at].hasVector && items[at].embedded === undefined);
  const embedded =
    embedder && texts.length > 0 ? await embedder.embedDocuments(texts.map((at) => items[at].text)) : [];
  const byPosition = new Map(texts.map((at, i) => [at, embedded[i]]));
  const vectorOf = (at: number) => items[at].embedded ?? byPosition.get(at);
  const [first] = positions.slice(0, 1).map(vectorOf);
  const dimension = checked.dimension ?? packing.dimension ?? first?.length ?? 0;
  const isWhole = vectors.length === positions.length * dimension;
  const packed = isWhole ? vectors : new Float32Array(positions.length * dimension);
  const fill = (i: number) => {
    const at = positions[i];
    const to = packed.subarray(i * dimension, (i + 1) * dimension);
    const own = vectorOf(at);
    if (own !== undefined) {
      copyVector(own, to, metric, `items[${items[at].position}].vector`);
      if (precision !== undefined) roundVectors(to, precision, dimension);
    } else if (!isWhole) to.set(vectors.subarray(at * dimension, (at + 1) * dimension));
  };
  await forEachYielding(positions.length, fill, 8);
  return { rows: positions.map((at) => items[at].row), vectors: packed, dimension };
}

/**
 * Copies a vector to `to`, which has the length of the index's vectors. Throws `dimension_mismatch` if the lengths differ,
 * `invalid_request` for a component that is not finite as float32, or a norm too large for the metric.
 */
export function copyVector(vector: Vector, to: Float32Array, metric: Metric, where: string): void {
  const { length } = to;
  if (vector.length !== length) throw dimensionMismatch(where, length, vector.length);
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

/** The fields of an item, with an id that is checked. */
function takeFields(item: Item, i: number): Item {
  const own = takeOwnOptions(item, itemFields, `items[${i}]`);
  checkIdText(own.id, `items[${i}].id`);
  return own;
}

function firstLength(items: readonly Item[], positions: Iterable<number>): number | undefined {
  for (const position of positions) {
    const vector: unknown = items[position].vector ?? undefined;
    if (vector === undefined) continue;
    checkVectorShape(vector, `items[${position}].vector`);
    return vector.length;
  }
  return undefined;
}

function packRow(
  { id, metadataJson, expiresAt, contents, position }: TakenItem,
  keys: Pick<LastingKeys, "id">,
): Row {
  const where = `items[${position}]`;
  const bytes = Buffer.byteLength(metadataJson, "utf8");
  if (bytes > metadataBytesMax) {
    throw invalid(`${where}.metadata: expected at most ${metadataBytesMax} bytes of JSON, got ${bytes}`);
  }
  return {
    fingerprint: fingerprint(keys.id, id),
    record: encodeRecord({ id, metadataJson, expiresAt }),
    contents: typeof contents === "string" ? encodeText(contents, `${where}.contents`) : null,
  };
}

/** In milliseconds since 1970. */
function expiryOf(expiresAt: unknown, where: string): number | undefined {
  if (expiresAt === undefined || expiresAt === null) return undefined;
  const time = isDate(expiresAt) ? expiresAt.getTime() : expiresAt;
  // Whole milliseconds. A time before 1970 is in the past as 0 is, and is not stored.
  if (typeof time === "number" && !Number.isNaN(new Date(time).getTime()))
    return Math.max(0, Math.trunc(time));
  const received = isDate(expiresAt) ? "an invalid one" : typeName(expiresAt);
  throw invalid(`${where}: expected a Date or milliseconds since 1970, got ${received}`);
}

/** Whether the item has a vector. Throws unless it has one, or contents to embed. */
function checkPresent({ vector, contents }: Item, where: string, embedder: Embedder | undefined): boolean {
  if (vector !== undefined && vector !== null) {
    checkVectorShape(vector, `${where}.vector`);
    return true;
  }
  if (embedder === undefined) {
    throw invalid(`${where}.vector: expected a vector, got none (the index has no embedding model)`);
  }
  if (typeof contents !== "string" && !isImage(contents)) {
    throw invalid(`${where}: expected a vector, or contents to embed, got neither`);
  }
  return false;
}

// The contents of items: the stored form of a text, and of an image, which is embedded at the same time.

const contentsBytesMax = 1024 * 1024;

/** Throws `invalid_request` for other values than contents, and for `keep` beside a text. `where`: the item. */
function checkContents({ contents, keep }: Item, where: string): void {
  const isKeep = keep === undefined || keep === null || typeof keep === "boolean" || typeof keep === "string";
  if (!isKeep) throw invalid(`${where}.keep: expected a boolean or a text, got ${typeName(keep)}`);
  if (isImage(contents)) return;
  if ((keep ?? false) !== false) throw invalid(`${where}.keep: expected contents that are an image`);
  if (contents === undefined || contents === null || typeof contents === "string") return;
  throw invalid(`${where}.contents: expected a string or an image, got ${typeName(contents)}`);
}

interface PackedImage {
  /** Its stored form. */
  readonly contents: Uint8Array | null;
  readonly vector: EmbeddedVector | undefined;
}

/** Reads the image, and embeds it if `embedder` is given. `where`: the image, for messages. */
async function packImage(
  image: Image,
  keep: Keep | undefined,
  where: string,
  embedder: Embedder | undefined,
): Promise<PackedImage> {
  const source = await readImage(image, where);
  const text = keptText(source, keep ?? false, where);
  const contents = text === undefined ? null : encodeText(text, where);
  if (embedder === undefined) return { contents, vector: undefined };
  const [vector] = await embedImages(embedder, [source], where);
  return { contents, vector };
}

/** The stored form of a text. */
function encodeText(text: string, where: string): Uint8Array {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length > contentsBytesMax) {
    throw invalid(`${where}: expected at most ${contentsBytesMax} bytes of UTF-8, got ${bytes.length}`);
  }
  return bytes;
}
