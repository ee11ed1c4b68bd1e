/** A collection with the interface of an index. Reads are those of an index, on a snapshot of all shards; changes go to the shards. */

import { inspect } from "node:util";
import { checkItemChange, checkSelection } from "../../api/check-selection.js";
import { itemGroups } from "../../api/item-groups.js";
import { methodOptions } from "../../api/method-options.js";
import { plainResults } from "../../api/served-index.js";
import type {
  CallOptions,
  ChangeOptions,
  Erasure,
  ErasureReceipt,
  IndexDescription,
  IndexKey,
  Item,
  ItemChange,
  ItemField,
  ItemPage,
  ListItemsOptions,
  Namespaces,
  Selection,
  TrainOptions,
  UpdateResult,
  UpdateSelection,
  UpsertOptions,
  UpsertResult,
  Wraps,
} from "../../api/vector-index.js";
import type { Calls } from "../../async/calls.js";
import { checkIdText } from "../../checks/input.js";
import { takeOptions } from "../../checks/option-names.js";
import { SealdexError } from "../../errors.js";
import { parseKeySource } from "../../keys/key-provider.js";
import { checkIds, checkUpdated, checkUpsert } from "../check-request.js";
import { EncryptedIndex } from "../encrypted-index.js";
import type { IndexModels } from "../query-vectors.js";
import { readReceipt } from "../namespaces.js";
import { deleteFrom, updateIn, upsertInto } from "./change-items.js";
import * as eachShard from "./each-shard.js";
import type { OpenCollection } from "./open-collection.js";

export class CollectionIndex extends EncryptedIndex {
  readonly #collection: OpenCollection;
  readonly #calls: Calls;
  readonly #texts: IndexModels;

  constructor(collection: OpenCollection, calls: Calls, texts: IndexModels) {
    super(collection.index, calls, texts, noWraps, new CollectionNamespaces(collection, calls));
    this.#collection = collection;
    this.#calls = calls;
    this.#texts = texts;
  }

  override async upsert(items: readonly Item[], options: UpsertOptions = {}): Promise<UpsertResult> {
    const { namespace, ...own } = takeOptions(options, methodOptions.upsert);
    const conditions = { ...checkUpsert(own), embedder: this.#texts.embedder };
    // Another shard may have stored its part before one refuses.
    if (conditions.within !== undefined) throw notSupported("within: one commit of all items");
    return this.#change(own.signal, () => upsertInto(this.#collection, items, { namespace, conditions }));
  }

  override async update(
    selection: UpdateSelection,
    change: ItemChange,
    options: ChangeOptions = {},
  ): Promise<UpdateResult> {
    const items = checkUpdated(selection);
    const checked = checkItemChange(change);
    const own = takeOptions(options, methodOptions.update);
    return this.#change(own.signal, () => updateIn(this.#collection, items, checked, own));
  }

  override async delete(selection: Selection, options: ChangeOptions = {}): Promise<void> {
    const selected = checkSelection(selection);
    const own = takeOptions(options, methodOptions.delete);
    if (selected.ids !== undefined) checkIds(selected.ids, "ids");
    await this.#change(own.signal, () => deleteFrom(this.#collection, selected, own));
  }

  override listItems<const I extends readonly ItemField[] = readonly ItemField[]>(
    options?: ListItemsOptions<I>,
  ): Promise<ItemPage<I>>;
  override async listItems(options: ListItemsOptions = {}, results = plainResults): Promise<ItemPage> {
    const list = super.listItems.bind(this) as (
      options: ListItemsOptions,
      results: typeof plainResults,
    ) => Promise<ItemPage>;
    const page = await list(options, results);
    if (page.cursor === undefined) return page;
    // Its state is needed in every shard.
    const { index, shards } = this.#collection;
    for (const { indexId } of await shards.refs()) index.listings.noteCursor(Buffer.from(indexId, "hex"));
    return page;
  }

  override async train(options: TrainOptions = {}): Promise<void> {
    options = takeOptions(options, methodOptions.train);
    if (options.queries !== undefined) throw notSupported("queries: it learns from none");
    await this.#calls.write(options.signal, () => eachShard.trainEach(this.#collection, options));
  }

  override async compact(options: CallOptions = {}): Promise<void> {
    const { signal } = takeOptions(options, methodOptions.compact);
    const { index } = this.#collection;
    index.keys.check("read-write", index.indexName);
    await this.#calls.write(signal, () => eachShard.compactEach(this.#collection, signal));
  }

  override async prefetch(options: CallOptions = {}): Promise<boolean> {
    const { signal } = takeOptions(options, methodOptions.prefetch);
    return this.#calls.read(signal, () => eachShard.prefetchEach(this.#collection, signal));
  }

  override async rotateKey(newKey: IndexKey, options: CallOptions = {}): Promise<void> {
    const { signal } = takeOptions(options, methodOptions.rotateKey);
    const source = parseKeySource(newKey);
    await this.#calls.write(signal, () => eachShard.rotateKeys(this.#collection, source));
  }

  override async reencrypt(options: CallOptions = {}): Promise<void> {
    const { signal } = takeOptions(options, methodOptions.reencrypt);
    await this.#calls.write(signal, () => eachShard.reencryptEach(this.#collection, signal));
  }

  override async describe(options: CallOptions = {}): Promise<IndexDescription> {
    const { signal } = takeOptions(options, methodOptions.describe);
    return this.#calls.read(signal, () => eachShard.describeAll(this.#collection));
  }

  override [itemGroups](): never {
    throw notSupported("groups of items, as savers and stores of LangGraph need them");
  }

  override [inspect.custom](): string {
    return `Collection(${JSON.stringify(this.indexName)})`;
  }

  /** Runs a change of items. */
  async #change<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const { index } = this.#collection;
    index.keys.check("read-write", index.indexName);
    return this.#calls.write(signal, async () => {
      const result = await work();
      // Old manifests of the head are collected as those of an index.
      index.maintenance.afterWrite();
      return result;
    });
  }
}

class CollectionNamespaces implements Namespaces {
  readonly #collection: OpenCollection;
  readonly #calls: Calls;

  constructor(collection: OpenCollection, calls: Calls) {
    this.#collection = collection;
    this.#calls = calls;
  }

  async list(options: CallOptions = {}): Promise<string[]> {
    const { signal } = takeOptions(options, methodOptions.listNamespaces);
    return this.#calls.read(signal, () => eachShard.namespaceNamesOf(this.#collection));
  }

  async readReceipt(receipt: string, options: CallOptions = {}): Promise<Erasure> {
    const { signal } = takeOptions(options, methodOptions.readReceipt);
    return this.#calls.read(signal, () => readReceipt(this.#collection.index, receipt));
  }

  async erase(namespace: string, options: CallOptions = {}): Promise<ErasureReceipt> {
    checkIdText(namespace, "namespace");
    const { signal } = takeOptions(options, methodOptions.erase);
    const { index } = this.#collection;
    index.keys.check("read-write", index.indexName);
    return this.#calls.write(signal, () => eachShard.eraseFrom(this.#collection, namespace, signal));
  }
}

const noWraps: Wraps = {
  add: () => Promise.reject(notSupported("wraps")),
  list: () => Promise.reject(notSupported("wraps")),
  revoke: () => Promise.reject(notSupported("wraps")),
};

function notSupported(what: string): SealdexError {
  return new SealdexError("not_supported", `collection: not supported yet: ${what}`);
}
