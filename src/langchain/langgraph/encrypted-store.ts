/** `EncryptedStore`, a LangGraph `BaseStore` whose items are encrypted. */

import { topKMax } from "../../api/method-options.js";
import { randomInt } from "node:crypto";
import { inspect } from "node:util";
import {
  BaseStore,
  type GetOperation,
  type ListNamespacesOperation,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type Item as StoreItem,
} from "@langchain/langgraph-checkpoint";
import { type ProbingOptions, storeProbing } from "../../api/effort.js";
import type { Item, TextIndexOptions, VectorIndex } from "../../api/vector-index.js";
import { hasOption, optionNames, takeOptions } from "../../checks/option-names.js";
import type { Embedder } from "../../embedding/embedder.js";
import { Models } from "../../embedding/models.js";
import type { EmbeddingsInput } from "../choose-embeddings.js";
import { chunkIds, earlierParts } from "../stored-bytes.js";
import { type OpenedIndex, StoreIndex } from "../store-index.js";
import {
  type EncryptedVectorStoreArgs,
  refuseOptions,
  takeStoreOptions,
  type VectorStoreArgsWithout,
} from "../store-options.js";
import { blankOf, type EmbeddedText, itemId, rowFilter, rowId, rowOf, textsAt, toRows } from "./item-rows.js";
import {
  bestOfEach,
  latestRows,
  readRow,
  readStoreItem,
  readStoreItems,
  rowsThatMatch,
  type ScoredRow,
  similar,
  storedValue,
} from "./item-values.js";
import {
  namespaceOptions,
  type NamespaceOptions,
  namespacesOf,
  operationNames,
  type Put,
  type StoreSearch,
  storeSearchOptions,
  type StoreSearchOperation,
  type StoreSearchOptions,
  takeListing,
  takePaths,
  takePut,
  takeSearch,
} from "./operations.js";

/** The fields that are embedded for semantic search, and their model: LangGraph's `IndexConfig`. */
export interface SemanticIndex {
  /** Dimension of the model's vectors. */
  readonly dims: number;
  readonly embeddings: EmbeddingsInput;
  /** Default `["$"]`: the whole value as JSON. */
  readonly fields?: readonly string[];
  /**
   * For a new store: `search` with a `query` then combines keyword and semantic search. `true` for
   * English texts. Default: semantic search only.
   */
  readonly textIndex?: TextIndexOptions | boolean;
}

const semanticIndexOptions = optionNames<SemanticIndex>("index", {
  dims: true,
  embeddings: true,
  fields: true,
  textIndex: true,
});

/** Options of a vector store only; this store has its own namespaces. */
const ofVectorStore = ["filter", "metric", "namespace", "shards", "textIndex"] as const;

/**
 * Location and key of the store, as for `EncryptedVectorStore`; `index` enables semantic search. A store without it reads and writes
 * the same items, and embeds none.
 */
export type EncryptedStoreArgs = VectorStoreArgsWithout<(typeof ofVectorStore)[number]> & {
  readonly index?: SemanticIndex;
};

/** As many values as `$in` takes. */
const deletedTogether = 10_000;
/** Characters of an embedded text that keyword search finds. */
const wordsMax = 256 * 1024;

/**
 * A value may have up to 16 MiB of JSON and bytes (`Uint8Array`). Filters use this library's operators on the fields of the
 * value (`{ score: { $gt: 4 } }`, dotted paths allowed). `search` with a `query` returns the
 * nearest items first, with their cosine similarity (or, with a text index, the fused score) as
 * `score`, followed by items that are not embedded. Without a query, the latest updated come first.
 * A batch reads before it writes, and the last of several puts to one key wins.
 */
export class EncryptedStore extends BaseStore {
  readonly #index: StoreIndex;
  readonly #probing: ProbingOptions;
  readonly #models: Models;
  readonly #embedder: Embedder | undefined;
  readonly #fields: readonly string[];
  /** Of the vectors of embedded texts. */
  readonly #dims: number | undefined;
  /** Whether searches include keywords. */
  #isHybrid: boolean;
  /** The vector of rows without an embedded text. */
  #blank: readonly number[];
  /** From a random number on: with the time, it tells the puts of two processes apart. */
  #turn = randomInt(2 ** 40);

  constructor({ index: semantic, ...args }: EncryptedStoreArgs) {
    super();
    refuseOptions(args, ofVectorStore, "EncryptedStore");
    const index = semantic && takeOptions(semantic, semanticIndexOptions);
    const textIndex = index?.textIndex;
    const own = takeStoreOptions({ ...args, metric: "cosine", textIndex } as EncryptedVectorStoreArgs);
    this.#index = new StoreIndex(own);
    this.#isHybrid = textIndex !== undefined && textIndex !== false;
    this.#probing = storeProbing(own);
    this.#models = new Models(own.models);
    this.#embedder = index && this.#models.embedder(index.embeddings, "embeddings");
    this.#fields = takePaths(index?.fields ?? ["$"], "index.fields");
    this.#dims = index?.dims;
    this.#blank = blankOf(index?.dims);
  }

  /** Throws `invalid_request`, and writes nothing, if an operation has an unknown property. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const puts = new Map<string, Put>();
    const reads = operations.map((operation): ((index: VectorIndex) => Promise<unknown>) => {
      if (hasOption(operation, "namespacePrefix")) {
        const search = takeSearch(operation as StoreSearchOperation);
        return (index) => this.#search(index, search);
      }
      if (hasOption(operation, "value")) {
        const put = takePut(operation as PutOperation);
        puts.set(itemId(put.namespace, put.key), put);
        return async () => null;
      }
      if (hasOption(operation, "key")) {
        const { namespace, key } = takeOptions(operation as GetOperation, operationNames.get);
        const id = itemId(namespace, key);
        return (index) => this.#get(index, id);
      }
      const listing = takeListing(operation as ListNamespacesOperation);
      return (index) => this.#listNamespaces(index, listing);
    });
    return this.#index.use(async (opened) => {
      this.#follow(opened);
      const { index } = opened;
      const read = await Promise.all(reads.map((of) => of(index)));
      if (puts.size > 0) await this.#put(index, puts);
      return read as OperationResults<Op>;
    });
  }

  /** Like any `BaseStore`, and `syntax`. Throws `invalid_request` for an unknown option. */
  override async search(
    namespacePrefix: string[],
    options: StoreSearchOptions = {},
  ): ReturnType<BaseStore["search"]> {
    const [found] = await this.batch([{ namespacePrefix, ...takeOptions(options, storeSearchOptions) }]);
    return found;
  }

  /** Like any `BaseStore`. Throws `invalid_request` for an unknown option. */
  override async listNamespaces(options: NamespaceOptions = {}): ReturnType<BaseStore["listNamespaces"]> {
    options = takeOptions(options, namespaceOptions);
    return super.listNamespaces(options);
  }

  /** Closes the client unless the caller passed it. */
  override async stop(): Promise<void> {
    await Promise.all([this.#index.close(), this.#models.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  [inspect.custom](): string {
    return `EncryptedStore(${JSON.stringify(this.#index.indexName)})`;
  }

  /** An existing index is used as it is, if it has room for this store's vectors. */
  #follow({ found }: OpenedIndex): void {
    if (found?.dimension !== undefined) this.#blank = blankOf(found.dimension, this.#dims);
    if (found !== undefined) this.#isHybrid = found.textIndex ?? false;
  }

  async #get(index: VectorIndex, id: string): Promise<StoreItem | null> {
    const row = await readRow(index, id);
    return (row && (await readStoreItem(index, row))) ?? null;
  }

  /** Writes before it deletes obsolete rows, so that a failure in between loses nothing. */
  async #put(index: VectorIndex, puts: ReadonlyMap<string, Put>): Promise<void> {
    const found = await index.get([...puts.keys()], { include: ["metadata"] });
    const before = new Map(found.map(({ id, metadata }) => [id, rowOf(metadata)]));
    const embedded = await this.#embed([...puts.values()]);
    const written: Item[] = [];
    const inParts: string[] = [];
    const leftOver: { readonly id: string; readonly turn: number | null }[] = [];
    const now = Date.now();
    for (const [id, put] of puts) {
      const { namespace, key, value } = put;
      const old = before.get(id);
      let rows = 0;
      if (value !== null) {
        const createdAt = old?.createdAt ?? now;
        const { chunks, ...fields } = storedValue(id, value, this.#blank);
        const item = { namespace, key, ...fields, createdAt, updatedAt: now, turn: this.#turn++ };
        const newRows = toRows(item, embedded.get(put) ?? [], this.#blank);
        written.push(...chunks, ...newRows);
        if (chunks.length + newRows.length > 1) inParts.push(id);
        rows = newRows.length;
      }
      if (old === undefined) continue;
      const { turn, stored } = old;
      for (let row = rows; row < old.rows; row++) leftOver.push({ id: rowId(id, row), turn });
      if (stored !== undefined)
        for (const chunk of chunkIds(id, stored)) leftOver.push({ id: chunk, turn: null });
    }
    if (written.length > 0) await index.upsert(written, { deleteFilter: earlierParts(inParts) });
    for (let start = 0; start < leftOver.length; start += deletedTogether) {
      const some = leftOver.slice(start, start + deletedTogether);
      // Another put may have written rows with these ids meanwhile.
      const filter = { turn: { $in: [...new Set(some.map(({ turn }) => turn))] } };
      await index.delete({ ids: some.map(({ id }) => id), filter });
    }
  }

  /** The embedded texts of each put, with their vectors. */
  async #embed(puts: readonly Put[]): Promise<Map<Put, EmbeddedText[]>> {
    const found = new Map<Put, EmbeddedText[]>();
    if (this.#embedder === undefined) return found;
    const texts = puts.map(({ value, index }) => {
      if (value === null || index === false) return [];
      const json: unknown = JSON.parse(value.json);
      return (index ?? this.#fields).flatMap((path) => textsAt(json, path));
    });
    const distinct = [...new Set(texts.flat())];
    if (distinct.length === 0) return found;
    const embedded = await this.#embedder.embedDocuments(distinct);
    const byText = new Map(distinct.map((text, i) => [text, embedded[i]]));
    const toRow = (text: string): EmbeddedText => ({
      vector: byText.get(text) as number[],
      ...(this.#isHybrid && { text: text.slice(0, wordsMax) }),
    });
    puts.forEach((put, i) => found.set(put, texts[i].map(toRow)));
    return found;
  }

  async #search(index: VectorIndex, operation: StoreSearch): Promise<SearchItem[]> {
    const { namespacePrefix, filter, limit = 10, offset = 0, query } = operation;
    const wanted = offset + limit;
    const ranked = query && this.#embedder !== undefined;
    const scored = ranked ? await this.#nearest(index, query, this.#embedder, operation, wanted) : [];
    if (scored.length >= wanted) return readStoreItems(index, scored.slice(offset, wanted));
    const others = rowFilter(namespacePrefix, filter, ranked ? { row: 0, indexed: false } : { row: 0 });
    const rest = await rowsThatMatch(
      index,
      await latestRows(index, others, this.#blank),
      filter,
      wanted - scored.length,
    );
    return readStoreItems(index, [...scored, ...rest].slice(offset, wanted));
  }

  async #nearest(
    index: VectorIndex,
    query: string,
    embedder: Embedder,
    { namespacePrefix, filter, queryText }: StoreSearch,
    wanted: number,
  ): Promise<ScoredRow[]> {
    const queryVector = await embedder.embedQuery(query);
    const rows = rowFilter(namespacePrefix, filter, { indexed: true });
    // An item with several texts may match several times, so more rows are requested until enough
    // items are found.
    for (let topK = Math.min(2 * wanted, topKMax); ; topK = Math.min(4 * topK, topKMax)) {
      const request = { queryVector, topK, ...this.#probing, filter: rows };
      const matches = this.#isHybrid
        ? await index.query({
            ...request,
            queryText,
            include: ["metadata"],
          })
        : await similar(index, request);
      const items = await rowsThatMatch(index, await bestOfEach(index, matches), filter, wanted);
      if (items.length >= wanted || matches.length < topK || topK === topKMax) return items;
    }
  }

  async #listNamespaces(index: VectorIndex, operation: ListNamespacesOperation): Promise<string[][]> {
    const rows = await latestRows(index, { row: 0 }, this.#blank);
    return namespacesOf(rows, operation);
  }
}
