/** Batches whose vectors are little-endian float32 in base64: a third of the bytes of JSON, and nothing to parse. */

import { checkFloat32, invalid } from "../check-input.js";
import { SealdexError } from "../errors.js";
import type { Item } from "../vector-index.js";

type Maybe<T> = T | null | undefined;

/** Vectors that have been received. */
export interface VectorRows {
  /** Of all numbers. */
  readonly bytes: number;
  row(i: number, dimension: number): Float32Array;
}

interface VectorsBody {
  /** Replaced by `VectorRows` as the body arrives. */
  readonly vectors_b64: unknown;
  readonly dimension: number;
}

/** Entries are in the order of the ids; null and an empty text stand for none. */
export interface BinaryItemsBody extends VectorsBody {
  readonly ids: readonly string[];
  /** Decoded as they arrive. */
  readonly metadata?: Maybe<readonly unknown[]>;
  readonly contents?: Maybe<readonly Maybe<string>[]>;
}

type Pause = () => Promise<void>;

/** How many items are made at a time. */
const together = 256;

/**
 * `pause` lets other work run, now and then. Throws `invalid_request` for lists of different lengths, and numbers that are not
 * finite.
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
  const vectors = await decodeRows(body, pause, ids.length);
  const items: Item[] = [];
  for (const [i, id] of ids.entries()) {
    if (i % together === 0) await pause();
    const item = { id, vector: vectors[i], contents: contents?.[i] || undefined };
    items.push({ ...item, metadata: metadata?.[i] ?? undefined } as Item);
  }
  return items;
}

/** The vectors of a batch of queries. Throws `invalid_request`. */
export async function decodeBinaryVectors(body: VectorsBody, pause: Pause): Promise<Float32Array[]> {
  const vectors = await decodeRows(body, pause);
  if (vectors.length > 0) return vectors;
  throw invalid("batch.vectors_b64: expected at least one vector, got none");
}

/** `expected`: how many there must be. */
async function decodeRows(
  { vectors_b64, dimension }: VectorsBody,
  pause: Pause,
  expected?: number,
): Promise<Float32Array[]> {
  const rows = vectors_b64 as VectorRows;
  if (typeof rows?.row !== "function") throw invalid("batch.vectors_b64: expected a string of base64");
  const count = rows.bytes / (4 * dimension);
  if (!Number.isInteger(count) || (expected !== undefined && count !== expected)) {
    const wanted = `${expected ?? "some"} vectors of ${dimension} numbers, 4 bytes each`;
    throw new SealdexError(
      "invalid_request",
      `batch.vectors_b64: expected ${wanted}, got ${rows.bytes} bytes`,
    );
  }
  const vectors: Float32Array[] = [];
  for (let i = 0; i < count; i++) {
    if (i % together === 0) await pause();
    const vector = rows.row(i, dimension);
    const wrong = vector.findIndex((component) => !Number.isFinite(component));
    if (wrong >= 0) checkFloat32(vector[wrong], `batch.vectors_b64[${i}]`, wrong);
    vectors.push(vector);
  }
  return vectors;
}
