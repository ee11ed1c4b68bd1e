/**
 * `EncryptedStore`, a LangGraph `BaseStore` whose items are encrypted. Needs `@langchain/langgraph-checkpoint`, which comes
 * with LangGraph.
 *
 * @module sealdex/langgraph
 */

import { topKMax } from "../../api/method-options.js";
import { inspect } from "node:util";
import {
  BaseStore,
  type GetOperation,
  type ListNamespacesOperation,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
  type Item as StoreItem,
} from "@langchain/langgraph-checkpoint";
import { type ProbingOptions, storeProbing } from "../../api/effort.js";
import { compileFilter, type Filter, takeFilter } from "../../api/filter/compile.js";
import type { Item, Metadata, SingleQuery, TextIndexOptions, VectorIndex } from "../../api/vector-index.js";
import { invalid, losslessJson } from "../../checks/input.js";
import { hasOption, optionNames, takeOptions } from "../../checks/option-names.js";
import type { Embedder } from "../../embedding/embedder.js";
import { Models } from "../../embedding/models.js";
import type { EmbeddingsInput } from "../choose-embeddings.js";
import { plainWords } from "../hybrid-search.js";
import { StoreIndex } from "../store-index.js";
import { type EncryptedVectorStoreArgs, takeStoreOptions } from "../store-options.js";
import {
  type EmbeddedText,
  isSameState,
  itemId,
  type ItemRow,
  rowFilter,
  rowId,
  rowOf,
  textsAt,
  toRows,
  toStoreItem,
} from "./item-rows.js";
import {
  namespaceOptions,
  type NamespaceOptions,
  namespacesOf,
  operationNames,
  storeSearchOptions,
  type StoreSearchOptions,
} from "./operation-names.js";

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
type OfVectorStore = "filter" | "metric" | "namespace" | "textIndex";
type Without<T> = T extends unknown ? Omit<T, OfVectorStore> : never;

/**
 * Location and key of the store, as for `EncryptedVectorStore`; `index` enables semantic search.
 */
export type EncryptedStoreArgs = Without<EncryptedVectorStoreArgs> & { readonly index?: SemanticIndex };

const idsPerPage = 1000;

/**
 * A value may have up to 64 KiB of JSON. Filters use this library's operators on the fields of the
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
  /** Whether searches include keywords. */
  readonly #isHybrid: boolean;
  /** The vector of rows without an embedded text. */
  readonly #blank: readonly number[];
  #turn = 0;

  constructor({ index: semantic, ...args }: EncryptedStoreArgs) {
    super();
    for (const name of ["filter", "metric", "namespace", "textIndex"] satisfies OfVectorStore[]) {
      if (hasOption(args, name)) throw invalid(`EncryptedStore: ${name} is only for vector stores`);
    }
    const index = semantic && takeOptions(semantic, semanticIndexOptions);
    const textIndex = index?.textIndex ?? false;
    const own = takeStoreOptions({ ...args, metric: "cosine", textIndex } as EncryptedVectorStoreArgs);
    this.#index = new StoreIndex(own);
    this.#isHybrid = textIndex !== false;
    this.#probing = storeProbing(own);
    this.#models = new Models(own.models);
    this.#embedder = index && this.#models.embedder(index.embeddings, "embeddings");
    this.#fields = [...(index?.fields ?? ["$"])];
    this.#blank = Array.from({ length: index?.dims ?? 1 }, () => 0);
  }

  /** Throws `invalid_request`, and writes nothing, if an operation has an unknown property. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const puts = new Map<string, PutOperation>();
    const reads = operations.map((operation): ((index: VectorIndex) => Promise<unknown>) => {
      if (hasOption(operation, "namespacePrefix")) {
        const search = takeSearch(operation as SearchOperation);
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
      const listing = structuredClone(
        takeOptions(operation as ListNamespacesOperation, operationNames.listNamespaces),
      );
      return (index) => this.#listNamespaces(index, listing);
    });
    const { index } = await this.#index.open();
    const read = await Promise.all(reads.map((of) => of(index)));
    if (puts.size > 0) await this.#put(index, puts);
    return read as OperationResults<Op>;
  }

  /** Like any `BaseStore`. Throws `invalid_request` for an unknown option. */
  override async search(
    namespacePrefix: string[],
    options: StoreSearchOptions = {},
  ): ReturnType<BaseStore["search"]> {
    options = takeOptions(options, storeSearchOptions);
    return super.search(namespacePrefix, options);
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

  async #get(index: VectorIndex, id: string): Promise<StoreItem | null> {
    const [found] = await index.get([id], { include: ["metadata"] });
    return found === undefined ? null : toStoreItem(rowOf(found.metadata));
  }

  /** Writes before it deletes obsolete rows, so that a failure in between loses nothing. */
  async #put(index: VectorIndex, puts: ReadonlyMap<string, PutOperation>): Promise<void> {
    const found = await index.get([...puts.keys()], { include: ["metadata"] });
    const before = new Map(found.map(({ id, metadata }) => [id, rowOf(metadata)]));
    const embedded = await this.#embed([...puts.values()]);
    const written: Item[] = [];
    const leftOver: string[] = [];
    const now = Date.now();
    for (const [id, put] of puts) {
      const { namespace, key, value } = put;
      const old = before.get(id);
      let rows = 0;
      if (value !== null) {
        const createdAt = old?.createdAt ?? now;
        const item = { namespace, key, value, createdAt, updatedAt: now, turn: this.#turn++ };
        const newRows = toRows(item, embedded.get(put) ?? [], this.#blank);
        written.push(...newRows);
        rows = newRows.length;
      }
      for (let row = rows; row < (old?.rows ?? 0); row++) leftOver.push(rowId(id, row));
    }
    if (written.length > 0) await index.upsert(written);
    if (leftOver.length > 0) await index.delete({ ids: leftOver });
  }

  /** The embedded texts of each put, with their vectors. */
  async #embed(puts: readonly PutOperation[]): Promise<Map<PutOperation, EmbeddedText[]>> {
    const found = new Map<PutOperation, EmbeddedText[]>();
    if (this.#embedder === undefined) return found;
    const texts = puts.map(({ value, index }) => {
      if (value === null || index === false) return [];
      return (index ?? this.#fields).flatMap((path) => textsAt(value, path));
    });
    const distinct = [...new Set(texts.flat())];
    if (distinct.length === 0) return found;
    const embedded = await this.#embedder.embedDocuments(distinct);
    const byText = new Map(distinct.map((text, i) => [text, embedded[i]]));
    const toRow = (text: string): EmbeddedText => ({
      vector: byText.get(text) as number[],
      ...(this.#isHybrid && { text }),
    });
    puts.forEach((put, i) => found.set(put, texts[i].map(toRow)));
    return found;
  }

  async #search(index: VectorIndex, operation: SearchOperation): Promise<SearchItem[]> {
    const { namespacePrefix, filter, limit = 10, offset = 0, query } = operation;
    const wanted = offset + limit;
    const ranked = query && this.#embedder !== undefined;
    const scored = ranked ? await this.#nearest(index, query, this.#embedder, operation, wanted) : [];
    if (scored.length >= wanted) return scored.slice(offset, wanted);
    const others = rowFilter(namespacePrefix, filter, ranked ? { row: 0, indexed: false } : { row: 0 });
    const rest = (await this.#latest(index, others)).map((row) => toStoreItem(row));
    return [...scored, ...rest].slice(offset, wanted);
  }

  async #nearest(
    index: VectorIndex,
    query: string,
    embedder: Embedder,
    { namespacePrefix, filter }: SearchOperation,
    wanted: number,
  ): Promise<SearchItem[]> {
    const queryVector = await embedder.embedQuery(query);
    const rows = rowFilter(namespacePrefix, filter, { indexed: true });
    // An item with several texts may match several times, so more rows are requested until enough
    // items are found.
    for (let topK = Math.min(2 * wanted, topKMax); ; topK = Math.min(4 * topK, topKMax)) {
      const request = { queryVector, topK, ...this.#probing, filter: rows };
      const matches = this.#isHybrid
        ? await index.query({ ...request, queryText: plainWords(query), include: ["metadata"] })
        : await similar(index, request);
      const items = await bestOfEach(index, matches);
      if (items.length >= wanted || matches.length < topK || topK === topKMax) return items;
    }
  }

  /** Matching rows, the latest updated first. */
  async #latest(index: VectorIndex, filter: Filter): Promise<ItemRow[]> {
    const everyList = { nProbes: Number.MAX_SAFE_INTEGER };
    const queryVector = [...this.#blank];
    const found = await index.query({
      queryVector,
      topK: topKMax,
      ...everyList,
      filter,
      include: ["metadata"],
    });
    const rows =
      found.length < topKMax
        ? found.map(({ metadata }) => rowOf(metadata))
        : await allMatching(index, filter);
    return rows.sort((a, b) => b.updatedAt - a.updatedAt || b.turn - a.turn);
  }

  async #listNamespaces(index: VectorIndex, operation: ListNamespacesOperation): Promise<string[][]> {
    const rows = await this.#latest(index, { row: 0 });
    return namespacesOf(rows, operation);
  }
}

/** The nearest rows, with their cosine similarity as score. */
async function similar(index: VectorIndex, query: SingleQuery): Promise<Scored[]> {
  const matches = await index.query({ ...query, include: ["distance", "metadata"] });
  return matches.map(({ metadata, distance }) => ({ metadata, score: 1 - distance }));
}

interface Scored {
  readonly metadata: Metadata;
  readonly score: number;
}

/** The best row of each item, without rows that a later state of the item left behind. */
async function bestOfEach(index: VectorIndex, matches: readonly Scored[]): Promise<SearchItem[]> {
  const best = new Map<string, { row: ItemRow; score: number }>();
  const doubtful = matches.map(({ metadata }) => rowOf(metadata)).filter(({ row }) => row > 0);
  const ids = [...new Set(doubtful.map(({ namespace, key }) => itemId(namespace, key)))];
  const current = new Map(
    (await index.get(ids, { include: ["metadata"] })).map(({ id, metadata }) => [id, rowOf(metadata)]),
  );
  for (const { metadata, score } of matches) {
    const row = rowOf(metadata);
    const id = itemId(row.namespace, row.key);
    const first = row.row === 0 ? row : current.get(id);
    if (best.has(id) || first === undefined || !isSameState(first, row)) continue;
    best.set(id, { row, score });
  }
  return [...best.values()].map(({ row, score }) => ({ ...toStoreItem(row), score }));
}

/** Reads more rows than one query returns. */
async function allMatching(index: VectorIndex, filter: Filter): Promise<ItemRow[]> {
  const { matches } = compileFilter(filter);
  const rows: ItemRow[] = [];
  let after: string | undefined;
  for (;;) {
    const ids = await index.listIds({ limit: idsPerPage, ...(after !== undefined && { after }) });
    const items = await index.get(ids, { include: ["metadata"] });
    for (const { metadata } of items) if (matches(metadata as Metadata)) rows.push(rowOf(metadata));
    if (ids.length < idsPerPage) return rows;
    after = ids[ids.length - 1];
  }
}

/** Copies the operation. Throws `invalid_request` for a value that JSON would change. */
function takePut(operation: PutOperation): PutOperation {
  const { namespace, key, value, index } = takeOptions(operation, operationNames.put);
  checkAddress({ namespace, key });
  const json = value === null ? "null" : losslessJson(value, "value");
  return {
    namespace: [...namespace],
    key,
    value: JSON.parse(json) as PutOperation["value"],
    ...(index !== undefined && { index: index === false ? index : [...index] }),
  };
}

/** Copies the operation. Throws `invalid_request` for an invalid filter. */
function takeSearch(operation: SearchOperation): SearchOperation {
  const { namespacePrefix, filter, ...others } = takeOptions(operation, operationNames.search);
  const own = filter && (takeFilter(filter as Filter) as SearchOperation["filter"]);
  return { ...others, namespacePrefix: [...namespacePrefix], ...(own && { filter: own }) };
}

/** Repeats the checks of LangGraph's `put`, which callers of `batch` bypass. */
function checkAddress({ namespace, key }: Pick<PutOperation, "namespace" | "key">): void {
  if (namespace.length === 0 || !namespace.every((label) => typeof label === "string" && label !== "")) {
    throw invalid("namespace: expected at least one label, and no empty ones");
  }
  if (typeof key !== "string") throw invalid(`key: expected a string, got ${typeof key}`);
}
