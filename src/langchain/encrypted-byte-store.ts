/** `EncryptedByteStore`: values under keys, encrypted, for whatever LangChain keeps beside a vector store. */

import { inspect } from "node:util";
import { BaseStore } from "@langchain/core/stores";
import { bytesOfUrl, bytesUrl, urlBytesMax } from "../api/bytes-url.js";
import type { Item, ItemField, VectorIndex } from "../api/vector-index.js";
import { checkText, invalid, typeName } from "../checks/input.js";
import { isBytes } from "../checks/value-kinds.js";
import { StoreIndex } from "./store-index.js";
import {
  type EncryptedVectorStoreArgs,
  refuseOptions,
  searchOptionNames,
  takeStoreOptions,
  type VectorStoreArgsWithout,
} from "./store-options.js";
import {
  checkStoredLength,
  chunkIds,
  earlierParts,
  readStored,
  type StoredBytes,
  toChunks,
} from "./stored-bytes.js";

/** Location and key of the store, as for `EncryptedVectorStore`. `namespace`: of all values, default `values`. */
export type EncryptedByteStoreArgs = VectorStoreArgsWithout<(typeof searchOptionNames)[number]>;

/** An id may have 512 bytes, and that of a chunk is longer than the key. */
const keyBytesMax = 480;
const keysTogether = 1000;
/** Values that are read together have at most this many bytes, unless it is one. */
const readBytesMax = 16 * 1024 * 1024;
/** Items that are searched by nothing have the same vector. */
const vector = [0];

interface Entry {
  readonly length: number;
  /** The chunks of a value that is too large for the contents of one item. */
  readonly stored?: StoredBytes;
  readonly contents?: string | undefined;
}

/**
 * A store of bytes for `ParentDocumentRetriever`, `MultiVectorRetriever` and `CacheBackedEmbeddings`. Keys have 1 to 480
 * bytes of UTF-8, values up to 16 MiB. Of several pairs with one key, the last wins. A store in an index of its own stays untrained.
 */
export class EncryptedByteStore extends BaseStore<string, Uint8Array> {
  override lc_namespace = ["sealdex", "stores"];
  readonly #index: StoreIndex;
  readonly #within: { readonly namespace: string };

  constructor(args: EncryptedByteStoreArgs) {
    super();
    refuseOptions(args, searchOptionNames, "EncryptedByteStore");
    const own = takeStoreOptions(args as EncryptedVectorStoreArgs);
    this.#index = new StoreIndex(own);
    // An index trains itself by the items outside namespaces: here it has nothing to learn.
    this.#within = { namespace: own.namespace ?? "values" };
  }

  /** The values in the order of the keys; undefined for unknown ones. */
  override async mget(keys: string[]): Promise<(Uint8Array | undefined)[]> {
    // Retrievers ask for the parent of a document that has none.
    const ids = (keys as readonly (string | undefined)[]).map((key) =>
      key === undefined ? undefined : idOf(key),
    );
    const values = await this.#index.use(({ index }) => this.#read(index, ids));
    return ids.map((id) => (id === undefined ? undefined : values.get(id)));
  }

  override async mset(keyValuePairs: [string, Uint8Array][]): Promise<void> {
    const values = new Map(keyValuePairs.map(([key, value]) => [idOf(key), takeBytes(value)]));
    const items: Item[] = [];
    const chunked: string[] = [];
    for (const [id, bytes] of values) {
      const { length } = bytes;
      if (length <= urlBytesMax) {
        items.push({ id, vector, contents: bytesUrl(bytes), metadata: { length } });
      } else {
        const { stored, chunks } = toChunks(chunkedId(id), bytes, vector);
        items.push(...chunks, { id, vector, metadata: { length, stored } });
        chunked.push(chunkedId(id));
      }
    }
    await this.#index.use(async ({ index }) => {
      const before = await this.#entries(index, [...values.keys()]);
      const deleteFilter = earlierParts(chunked);
      if (items.length > 0) await index.upsert(items, { deleteFilter, ...this.#within });
      await this.#delete(index, chunksOf(before));
    });
  }

  /** Unknown keys are ignored. */
  override async mdelete(keys: string[]): Promise<void> {
    const ids = [...new Set(keys.map(idOf))];
    await this.#index.use(async ({ index }) =>
      this.#delete(index, [...ids, ...chunksOf(await this.#entries(index, ids))]),
    );
  }

  /** The keys that begin with `prefix`, in the order of string comparison. */
  override async *yieldKeys(prefix = ""): AsyncGenerator<string> {
    checkText(prefix, "prefix");
    if (Buffer.byteLength(prefix) > keyBytesMax) return;
    const first = keyPrefix + prefix;
    if (prefix !== "") {
      const found = await this.#index.use(({ index }) => this.#entries(index, [first]));
      if (found.size > 0) yield prefix;
    }
    for (let after = first; ;) {
      const page = { after, limit: keysTogether, ...this.#within };
      const ids = await this.#index.use(({ index }) => index.listIds(page));
      for (const id of ids) {
        if (!id.startsWith(first)) return;
        yield id.slice(keyPrefix.length);
      }
      if (ids.length < keysTogether) return;
      after = ids[ids.length - 1];
    }
  }

  /** Closes the client unless the caller passed it. */
  close(): Promise<void> {
    return this.#index.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  [inspect.custom](): string {
    return `EncryptedByteStore(${JSON.stringify(this.#index.indexName)})`;
  }

  async #read(index: VectorIndex, ids: readonly (string | undefined)[]): Promise<Map<string, Uint8Array>> {
    const lengths = await this.#entries(index, [...new Set(ids.filter((id) => id !== undefined))]);
    const values = new Map<string, Uint8Array>();
    for (const some of inGroups([...lengths.keys()], (id) => lengths.get(id)?.length ?? 0)) {
      const entries = await this.#entries(index, some, true);
      for (const [id, entry] of entries) {
        const readAgain = async () => (await this.#entries(index, [id], true)).get(id);
        const read = await readStored(index, chunkedId(id), entry, readAgain, this.#within);
        const bytes = read && (read.bytes ?? bytesOfUrl(read.item.contents ?? ""));
        // A Buffer would share its memory with others.
        if (bytes !== undefined) values.set(id, Uint8Array.from(bytes));
      }
    }
    return values;
  }

  /** The entries that there are, by id. */
  async #entries(
    index: VectorIndex,
    ids: readonly string[],
    withContents = false,
  ): Promise<Map<string, Entry>> {
    if (ids.length === 0) return new Map();
    const include: readonly ItemField[] = withContents ? ["metadata", "contents"] : ["metadata"];
    const found = await index.get(ids, { include, ...this.#within });
    return new Map(
      found.map(({ id, metadata, contents }) => [id, { ...(metadata as unknown as Entry), contents }]),
    );
  }

  async #delete(index: VectorIndex, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await index.delete({ ids }, this.#within);
  }
}

// Ids: of values and of chunks, which no key can name.

const keyPrefix = "key/";
const chunkPrefix = "chunk/";

function idOf(key: string): string {
  checkText(key, "key");
  const bytes = Buffer.byteLength(key);
  if (bytes > 0 && bytes <= keyBytesMax) return keyPrefix + key;
  throw invalid(`key: expected 1 to ${keyBytesMax} bytes of UTF-8, got ${bytes}`);
}

function chunkedId(id: string): string {
  return chunkPrefix + id.slice(keyPrefix.length);
}

function chunksOf(entries: ReadonlyMap<string, Entry>): string[] {
  return Array.from(entries, ([id, { stored }]) => (stored ? chunkIds(chunkedId(id), stored) : [])).flat();
}

function takeBytes(value: unknown): Uint8Array {
  if (!isBytes(value)) throw invalid(`value: expected a Uint8Array, got ${typeName(value)}`);
  checkStoredLength(value);
  return Uint8Array.from(value);
}

/** Groups of ids whose values are read together. */
function* inGroups(ids: readonly string[], lengthOf: (id: string) => number): Generator<string[]> {
  let group: string[] = [];
  let bytes = 0;
  for (const id of ids) {
    bytes += lengthOf(id);
    if (group.length > 0 && (bytes > readBytesMax || group.length === keysTogether)) {
      yield group;
      group = [];
      bytes = lengthOf(id);
    }
    group.push(id);
  }
  if (group.length > 0) yield group;
}
