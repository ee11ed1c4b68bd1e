/** Items as callers give them to a batch of rows: everything is checked here, before anything is written. */

import { fingerprint, type IndexKeys } from "../crypto/keys.js";
import { dimensionMax } from "../engine/config.js";
import type { Embedder } from "../embedder.js";
import { SealdexError } from "../errors.js";
import { encodeRecord, type Row } from "../segment/row.js";
import type { Item, Metadata, Vector } from "../vector-index.js";

const idBytesMax = 512;
const metadataBytesMax = 64 * 1024;
const contentsBytesMax = 1024 * 1024;

export interface PackedItems {
  readonly rows: readonly Row[];
  /** Layout (rows, dimension). */
  readonly vectors: Float32Array;
  readonly dimension: number;
}

/**
 * Packs the items, embedding the contents of those without a vector. Of equal ids the last stays.
 * `dimension`: the index's, or undefined to take the first vector's. Throws `invalid_request` or
 * `dimension_mismatch`, naming the item by its position.
 */
export async function packItems(
  items: readonly Item[],
  keys: IndexKeys,
  dimension: number | undefined,
  embedder: Embedder | undefined,
): Promise<PackedItems> {
  if (!Array.isArray(items)) throw invalid(`items: expected an array, got ${typeOf(items)}`);
  const last = new Map<string, number>();
  items.forEach((item, i) => last.set(checkId(item, i), i));
  const kept = [...last.values()];

  const rows = kept.map((i) => packRow(items[i], i, keys));
  const given = kept.map((i) => checkPresent(items[i], i, embedder));
  const texts = kept.filter((_, at) => given[at] === undefined).map((i) => items[i].contents as string);
  const embedded = texts.length > 0 ? await (embedder as Embedder).embedDocuments(texts) : [];

  let next = 0;
  const all = given.map((vector) => vector ?? embedded[next++]);
  const size = dimension ?? all[0]?.length ?? 0;
  const vectors = new Float32Array(all.length * size);
  all.forEach((vector, at) => copyVector(vector, vectors, at * size, size, `items[${kept[at]}].vector`));
  return { rows, vectors, dimension: size };
}

/** Copies a vector to `offset`, checking its length and that each number is finite as float32. */
export function copyVector(
  vector: Vector,
  to: Float32Array,
  offset: number,
  dimension: number,
  where: string,
): void {
  if (vector.length !== dimension) {
    throw new SealdexError(
      "dimension_mismatch",
      `${where}: expected ${dimension} numbers, got ${vector.length}`,
    );
  }
  for (let i = 0; i < dimension; i++) {
    const value = vector[i];
    to[offset + i] = value;
    if (typeof value !== "number" || !Number.isFinite(to[offset + i])) {
      throw invalid(
        `${where}[${i}]: expected a number that is finite as float32, got ${describeNumber(value)}`,
      );
    }
  }
}

/** Throws unless `vector` is an array of numbers or a Float32Array of 1 to 8,192 components. */
export function checkVectorShape(vector: unknown, where: string): asserts vector is Vector {
  if (!Array.isArray(vector) && !(vector instanceof Float32Array)) {
    throw invalid(`${where}: expected an array of numbers or a Float32Array, got ${typeOf(vector)}`);
  }
  if (vector.length === 0 || vector.length > dimensionMax) {
    throw new SealdexError(
      "dimension_mismatch",
      `${where}: expected 1 to ${dimensionMax} numbers, got ${vector.length}`,
    );
  }
}

export function checkIdText(id: unknown, where: string): asserts id is string {
  if (typeof id !== "string") throw invalid(`${where}: expected a string, got ${typeOf(id)}`);
  const bytes = Buffer.byteLength(id, "utf8");
  if (bytes === 0 || bytes > idBytesMax) {
    throw invalid(`${where}: expected 1 to ${idBytesMax} bytes of UTF-8, got ${bytes}`);
  }
  if (/\p{Cs}/u.test(id)) throw invalid(`${where}: expected well-formed text, got a lone surrogate`);
}

function checkId(item: unknown, i: number): string {
  if (typeof item !== "object" || item === null)
    throw invalid(`items[${i}]: expected an object, got ${typeOf(item)}`);
  const { id } = item as { id?: unknown };
  checkIdText(id, `items[${i}].id`);
  return id;
}

function packRow(item: Item, i: number, keys: IndexKeys): Row {
  const json = metadataJson(item.metadata ?? {}, `items[${i}].metadata`);
  return {
    fingerprint: fingerprint(keys.id, item.id),
    record: encodeRecord(item.id, json),
    contents: packContents(item.contents, `items[${i}].contents`),
  };
}

function packContents(contents: unknown, where: string): Uint8Array | null {
  if (contents === undefined || contents === null) return null;
  if (typeof contents !== "string") throw invalid(`${where}: expected a string, got ${typeOf(contents)}`);
  const bytes = Buffer.from(contents, "utf8");
  if (bytes.length > contentsBytesMax) {
    throw invalid(`${where}: expected at most ${contentsBytesMax} bytes of UTF-8, got ${bytes.length}`);
  }
  return bytes;
}

/** The metadata as JSON text; what JSON cannot say is refused rather than changed. */
function metadataJson(metadata: Metadata, where: string): string {
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) {
    throw invalid(`${where}: expected an object, got ${typeOf(metadata)}`);
  }
  const json = stringify(metadata, where);
  const bytes = Buffer.byteLength(json, "utf8");
  if (bytes > metadataBytesMax) {
    throw invalid(`${where}: expected at most ${metadataBytesMax} bytes of JSON, got ${bytes}`);
  }
  return json;
}

function stringify(metadata: Metadata, where: string): string {
  const check = function check(this: unknown, key: string, value: unknown): unknown {
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw invalid(`${where}: expected JSON values, got ${describeNumber(value)} under "${key}"`);
    }
    const lost = value === undefined && Array.isArray(this);
    if (lost || typeof value === "bigint" || typeof value === "function" || typeof value === "symbol") {
      throw invalid(`${where}: expected JSON values, got ${typeOf(value)} under "${key}"`);
    }
    return value;
  };
  try {
    return JSON.stringify(metadata, check);
  } catch (cause) {
    if (cause instanceof SealdexError) throw cause;
    throw new SealdexError("invalid_request", `${where}: expected JSON values, got a cycle or deep nesting`, {
      cause,
    });
  }
}

function checkPresent(item: Item, i: number, embedder: Embedder | undefined): Vector | undefined {
  if (item.vector !== undefined && item.vector !== null) {
    checkVectorShape(item.vector, `items[${i}].vector`);
    return item.vector;
  }
  if (embedder === undefined) {
    throw invalid(`items[${i}].vector: expected a vector, got none (the index has no embedding model)`);
  }
  if (typeof item.contents !== "string") {
    throw invalid(`items[${i}]: expected a vector, or contents to embed, got neither`);
  }
  return undefined;
}

function describeNumber(value: unknown): string {
  if (typeof value !== "number") return typeOf(value);
  return Number.isFinite(value) ? "a number too large" : String(value);
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : typeof value;
}

function invalid(message: string): SealdexError {
  return new SealdexError("invalid_request", message);
}
