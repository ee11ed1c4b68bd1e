/**
 * Batches with vectors as little-endian float32 in base64: a third of the bytes of JSON, and no
 * number to parse.
 */

import { checkFloat32, invalid } from "../../checks/input.js";
import type { Item } from "../../api/vector-index.js";
import type { Maybe } from "./address.js";
import { encodeBase64 } from "./values.js";
import type { EncodedItem } from "./items.js";
import { queriesMax } from "./query.js";

/** Received vectors. */
export interface BinaryVectors {
  /** Total bytes. */
  readonly bytes: number;
  row(i: number, dimension: number): Float32Array;
}

/** Those in the whole of a buffer. */
export function binaryVectors({ buffer, byteLength }: Uint8Array<ArrayBuffer>): BinaryVectors {
  return {
    bytes: byteLength,
    row: (i, dimension) => new Float32Array(buffer, 4 * i * dimension, dimension),
  };
}

interface VectorsBody {
  /** Replaced by `BinaryVectors` while the body arrives. */
  readonly vectors_b64: unknown;
  readonly dimension: number;
}

/** Entries are in the order of the ids; null and an empty text mean none. */
export interface BinaryItemsBody extends VectorsBody {
  readonly ids: readonly string[];
  /** Decoded while they arrive. */
  readonly metadata?: Maybe<readonly unknown[]>;
  readonly contents?: Maybe<readonly Maybe<string>[]>;
}

/** Encodes vectors of this dimension for the field `batch`. */
export function encodeBinaryVectors(vectors: readonly (readonly number[])[], dimension: number) {
  const numbers = new Float32Array(vectors.length * dimension);
  for (const [i, vector] of vectors.entries()) numbers.set(vector, i * dimension);
  return { dimension, vectors_b64: encodeBase64(new Uint8Array(numbers.buffer)) };
}

/**
 * The dimension of items that a binary upsert can express: vectors of one dimension, no images,
 * empty texts or expiry times.
 */
export function binaryDimension(items: readonly EncodedItem[]): number | undefined {
  const dimension = items[0]?.vector?.length;
  const fits = ({ id, vector, contents, keep, expires_at }: EncodedItem) =>
    typeof id === "string" &&
    vector?.length === dimension &&
    (contents === undefined || (typeof contents === "string" && contents !== "")) &&
    keep === undefined &&
    expires_at === undefined;
  return items.every(fits) ? dimension : undefined;
}

/** The common dimension of the vectors; undefined if there is none. */
export function commonDimension(vectors: readonly (readonly number[])[]): number | undefined {
  const dimension = vectors[0]?.length;
  return vectors.every((vector) => vector.length === dimension) ? dimension : undefined;
}

type Pause = () => Promise<void>;

/** Items decoded between pauses. */
const together = 256;

/**
 * Calls `pause` between pieces. Throws `invalid_request` for lists of different lengths and for
 * numbers that are not finite.
 */
export async function decodeBinaryItems(body: BinaryItemsBody, pause: Pause): Promise<Item[]> {
  const { ids } = body;
  const metadata = body.metadata ?? undefined;
  const contents = body.contents ?? undefined;
  for (const [name, list] of Object.entries({ metadata, contents })) {
    if (list !== undefined && list.length !== ids.length) {
      throw invalid(`batch.${name}: expected ${ids.length} entries, one for each id, got ${list.length}`);
    }
  }
  const count = ids.length;
  const vectors = await decodeRows(body, pause, { min: count, max: count });
  const items: Item[] = [];
  for (const [i, id] of ids.entries()) {
    if (i % together === 0) await pause();
    const item = { id, vector: vectors[i], contents: contents?.[i] || undefined };
    items.push({ ...item, metadata: metadata?.[i] ?? undefined } as Item);
  }
  return items;
}

/** Decodes the vectors of a batch of queries. Throws `invalid_request`. */
export async function decodeBinaryVectors(body: VectorsBody, pause: Pause): Promise<Float32Array[]> {
  return decodeRows(body, pause, { min: 1, max: queriesMax });
}

/** Accepts `min` to `max` vectors, counted before any is created. */
async function decodeRows(
  { vectors_b64, dimension }: VectorsBody,
  pause: Pause,
  { min, max }: { readonly min: number; readonly max: number },
): Promise<Float32Array[]> {
  const rows = vectors_b64 as BinaryVectors;
  if (typeof rows?.row !== "function") throw invalid("batch.vectors_b64: expected a string of base64");
  const count = rows.bytes / (4 * dimension);
  if (!Number.isInteger(count) || count < min || count > max) {
    const wanted = `${min === max ? min : `${min} to ${max}`} vectors of ${dimension} numbers, 4 bytes each`;
    throw invalid(`batch.vectors_b64: expected ${wanted}, got ${rows.bytes} bytes`);
  }
  const vectors: Float32Array[] = [];
  for (let i = 0; i < count; i++) {
    if (i % together === 0) await pause();
    const vector = rows.row(i, dimension);
    if (!areFinite(vector)) {
      for (const [j, component] of vector.entries()) checkFloat32(component, `batch.vectors_b64[${i}]`, j);
    }
    vectors.push(vector);
  }
  return vectors;
}

/** The sum in double precision is finite only if all components are. */
function areFinite(vector: Float32Array): boolean {
  let sum = 0;
  for (let i = 0; i < vector.length; i++) sum += vector[i];
  return Number.isFinite(sum);
}
