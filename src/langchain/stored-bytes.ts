/**
 * Bytes of any length, as chunks in items of an index. The item of the value names its chunks in its metadata. The ids of chunks have a
 * part that is random for each state of the value, so that a reader never joins chunks of two states, and a state replaces
 * another by the write of one item.
 */

import { randomBytes } from "node:crypto";
import { bytesOfUrl, bytesUrl, isBytesUrl, urlBytesMax } from "../api/bytes-url.js";
import type { Filter } from "../api/filter/compile.js";
import type { Item, NamespaceOption, VectorIndex } from "../api/vector-index.js";
import { invalid } from "../checks/input.js";
import { SealdexError } from "../errors.js";

/** The largest value of a store. */
const storedBytesMax = 16 * 1024 * 1024;

/** Of a value in chunks, as far as its item says. */
const readBytesMax = 2 ** 31;
/** As many ids as `$in` takes. */
const idsTogether = 10_000;
/** Chunks that are read in one call. */
const chunksTogether = 16;

/** Names the chunks of a value, in the metadata of its item. */
export interface StoredBytes {
  /** Random. */
  readonly state: string;
  readonly length: number;
}

interface CutBytes {
  readonly stored: StoredBytes;
  readonly chunks: readonly Item[];
}

/** Throws `invalid_request` for a value that is too large for a store. */
export function checkStoredLength({ length }: Uint8Array): void {
  if (length > storedBytesMax)
    throw invalid(`value: expected at most ${storedBytesMax} bytes, got ${length}`);
}

/** Cuts a value into items, to be stored before, or together with, the item `id`. `vector`: one that the index accepts. */
export function toChunks(id: string, bytes: Uint8Array, vector: readonly number[]): CutBytes {
  const stored = { state: randomBytes(8).toString("hex"), length: bytes.length };
  const chunks = chunkIds(id, stored).map((chunkId, i) => ({
    id: chunkId,
    vector,
    contents: bytesUrl(bytes.subarray(i * urlBytesMax, (i + 1) * urlBytesMax)),
    metadata: { of: id },
  }));
  return { stored, chunks };
}

/**
 * The `deleteFilter` of an upsert of the items `ids`: the parts, by `of` in their metadata, of every earlier state, also of one that
 * another writer stored since it was read, or did not clear away. Undefined for no ids.
 */
export function earlierParts(ids: readonly string[]): Filter | undefined {
  if (ids.length === 0) return undefined;
  const groups = Array.from({ length: Math.ceil(ids.length / idsTogether) }, (_, i) =>
    ids.slice(i * idsTogether, (i + 1) * idsTogether),
  );
  return { $or: groups.map((group) => ({ of: { $in: group } })) };
}

/** The ids of the items with the chunks of a value. */
export function chunkIds(id: string, { state, length }: StoredBytes): string[] {
  return Array.from({ length: Math.ceil(length / urlBytesMax) }, (_, i) => `${id}/${state}/${i}`);
}

/** The value of the item `id`; undefined if a chunk is gone. */
async function readChunks(
  index: VectorIndex,
  id: string,
  stored: StoredBytes,
  within: NamespaceOption,
): Promise<Uint8Array | undefined> {
  const ids = chunkIds(id, stored);
  const parts: Uint8Array[] = [];
  for (let start = 0; start < ids.length; start += chunksTogether) {
    const some = ids.slice(start, start + chunksTogether);
    for (const { contents } of await index.get(some, { include: ["contents"], ...within })) {
      if (contents !== undefined && isBytesUrl(contents)) parts.push(bytesOfUrl(contents));
    }
  }
  const bytes = Buffer.concat(parts);
  return parts.length === ids.length && bytes.length === stored.length ? bytes : undefined;
}

/**
 * Reads the value of the item `id`, and the item as it is then; undefined if it was deleted meanwhile. Without `stored`, the item has
 * its value itself. `readAgain`: reads the item, since a put that replaces it deletes its chunks.
 */
export async function readStored<T extends { readonly stored?: StoredBytes | undefined }>(
  index: VectorIndex,
  id: string,
  item: T | undefined,
  readAgain: () => Promise<T | undefined>,
  within: NamespaceOption = {},
): Promise<{ readonly item: T; readonly bytes?: Uint8Array } | undefined> {
  let missed: string | undefined;
  while (item !== undefined) {
    const { stored } = item;
    if (stored === undefined) return { item };
    if (!(stored.length >= 0 && stored.length <= readBytesMax)) {
      throw new SealdexError("corrupt", "value: it is not as this library stores one");
    }
    const bytes = await readChunks(index, id, stored, within);
    if (bytes !== undefined) return { item, bytes };
    if (stored.state === missed) throw new SealdexError("missing_object", "value: a part of it is missing");
    missed = stored.state;
    item = await readAgain();
  }
  return undefined;
}
