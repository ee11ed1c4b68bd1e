/** A collection with the interface of an index. Reads are those of an index, on a snapshot of all shards; changes go to the shards. */

import { inspect } from "node:util";
import { checkItemChange, checkSelection } from "../../api/check-selection.js";
import { itemGroups } from "../../api/item-groups.js";
import { methodOptions } from "../../api/method-options.js";
import type {
  CallOptions,
  ChangeOptions,
  IndexDescription,
  IndexKey,
  Item,
  ItemChange,
  Selection,
  TrainOptions,
  UpdateResult,
  UpdateSelection,
  UpsertOptions,
  UpsertResult,
  Wraps,
} from "../../api/vector-index.js";
import type { Calls } from "../../async/calls.js";
import { takeOptions } from "../../checks/option-names.js";
import { SealdexError } from "../../errors.js";
import { parseKeySource } from "../../keys/key-provider.js";
import { checkIds, checkUpdated, checkUpsert } from "../check-request.js";
import { EncryptedIndex } from "../encrypted-index.js";
import type { IndexModels } from "../query-vectors.js";
import { IndexNamespaces } from "../namespaces.js";
import { deleteFrom, updateIn, upsertInto } from "./change-items.js";
import * as eachShard from "./each-shard.js";
import type { OpenCollection } from "./open-collection.js";
import { startRemoval } from "./spare-shards.js";

export class CollectionIndex extends EncryptedIndex {
  readonly #collection: OpenCollection;
  readonly #calls: Calls;
  readonly #texts: IndexModels;

  constructor(collection: OpenCollection, calls: Calls, texts: IndexModels) {
    const namespaces = new IndexNamespaces(collection.index, calls, {
      names: () => eachShard.namespaceNamesOf(collection),
      erase: (namespace, signal) => eachShard.eraseFrom(collection, namespace, signal),
    });
    super(collection.index, calls, texts, noWraps, namespaces);
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

  override async train(options: TrainOptions = {}): Promise<void> {
    options = takeOptions(options, methodOptions.train);
    await this.#calls.write(options.signal, eachShard.prepareTrainings(this.#collection, options));
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
      startRemoval(this.#collection);
      return result;
    });
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
