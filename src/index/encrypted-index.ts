/** The embedded index: checks arguments, and passes clean values to one verb each. */

import { inspect } from "node:util";
import { checkItemChange, checkSelection, takeIds } from "../api/check-selection.js";
import { methodOptions } from "../api/method-options.js";
import { type ItemGroups, itemGroups } from "../api/item-groups.js";
import { asksForProfile, checkPartial, withoutProfile } from "../api/profiled-query.js";
import { plainResults, type ResultSettings, served } from "../api/served-index.js";
import type {
  AskingForProfile,
  BatchQuery,
  CallOptions,
  ChangeOptions,
  CountOptions,
  DefaultInclude,
  ErasureReceipt,
  GetOptions,
  IndexDescription,
  IndexKey,
  Item,
  ItemChange,
  ItemField,
  ItemPage,
  ItemsOptions,
  ListIdsOptions,
  ListItemsOptions,
  Match,
  MatchField,
  MeasuredRecall,
  ProfiledMatches,
  ProfiledQuery,
  ProfiledResult,
  RankedMatch,
  RankedQuery,
  ScoredMatch,
  Selection,
  SingleQuery,
  StoredItem,
  TextQuery,
  TrainOptions,
  UpdateResult,
  UpdateSelection,
  UpsertOptions,
  UpsertResult,
  VectorIndex,
  WordField,
  WordQuery,
  Wraps,
} from "../api/vector-index.js";
import { type Calls, generatorOf } from "../async/calls.js";
import { currentProfile, profiled } from "../async/profile.js";
import { takeOptions } from "../checks/option-names.js";
import type { Embedder } from "../embedding/embedder.js";
import { checkModel, IndexEmbedder } from "../embedding/index-embedder.js";
import { Models } from "../embedding/models.js";
import { start } from "../engine/threads/run.js";
import { parseKeySource } from "../keys/key-provider.js";
import { prefetch } from "../query/prefetch.js";
import {
  checkFields,
  checkIds,
  checkListIds,
  checkListing,
  checkPage,
  checkQuery,
  checkRanked,
  checkUpdated,
  checkUpsert,
  compiledFilter,
} from "./check-request.js";
import { deleteSelected } from "./delete.js";
import { listIds } from "./listing/list-ids.js";
import { decodeCursor, listEach, listItems } from "./listing/list-items.js";
import { compactAndCollect } from "./maintenance/gc.js";
import { reencrypt } from "./maintenance/reencrypt.js";
import { IndexGroups } from "./item-groups.js";
import { IndexNamespaces } from "./namespaces.js";
import { type OpenIndex, restrictToNamespace } from "./open/open-index.js";
import { answerQuery, answerRanked, type IndexModels } from "./query-vectors.js";
import { checkWordQuery, isWordQuery } from "./check-word-query.js";
import { answerWords } from "./query-words.js";
import { count, describe, getItems, measuredRecall, presentAnchor } from "./read.js";
import { takeOwnOptions } from "./take-options.js";
import { prepareTraining } from "./train-index.js";
import { update } from "./update.js";
import { upsertItems } from "./upsert-items.js";
import { IndexWraps } from "./wraps.js";

export class EncryptedIndex implements VectorIndex {
  readonly indexName: string;
  readonly wraps: Wraps;
  readonly namespaces: IndexNamespaces;
  readonly #index: OpenIndex;
  readonly #calls: Calls;
  readonly #texts: IndexModels;

  /** `calls`: of the client that opened it. `texts`: embeds and ranks them. */
  constructor(
    index: OpenIndex,
    calls: Calls,
    texts: IndexModels = { models: new Models() },
    wraps: Wraps = new IndexWraps(index, calls),
    namespaces: IndexNamespaces = new IndexNamespaces(index, calls),
  ) {
    this.indexName = index.indexName;
    this.wraps = wraps;
    this.namespaces = namespaces;
    this.#index = index;
    this.#calls = calls;
    this.#texts = texts;
  }

  async upsert(items: readonly Item[], options: UpsertOptions = {}): Promise<UpsertResult> {
    options = takeOptions(options, methodOptions.upsert);
    const index = this.#within(options.namespace);
    const conditions = { ...checkUpsert(options), embedder: this.#texts.embedder };
    return this.#write(options.signal, () => upsertItems(index, items, conditions));
  }

  async update(
    selection: UpdateSelection,
    change: ItemChange,
    options: ChangeOptions = {},
  ): Promise<UpdateResult> {
    const items = checkUpdated(selection);
    const checked = checkItemChange(change);
    const { namespace, signal } = takeOptions(options, methodOptions.update);
    const index = this.#within(namespace);
    return this.#write(signal, () => update(index, items, checked, signal));
  }

  query<const I extends readonly WordField[] = DefaultInclude>(
    request: WordQuery<I>,
  ): Promise<ScoredMatch<I>[]>;
  query<const I extends readonly MatchField[] = DefaultInclude>(
    request: RankedQuery<I>,
  ): Promise<RankedMatch<I>[]>;
  query<const I extends readonly MatchField[] = DefaultInclude>(
    request: SingleQuery<I> | TextQuery<I>,
  ): Promise<Match<I>[]>;
  query<const I extends readonly MatchField[] = DefaultInclude>(
    request: BatchQuery<I>,
  ): Promise<Match<I>[][]>;
  query<const Q extends ProfiledQuery>(request: AskingForProfile<Q>): Promise<ProfiledResult<Q>>;
  query<const I extends readonly MatchField[] = DefaultInclude>(
    request: SingleQuery<I> | TextQuery<I> | BatchQuery<I>,
  ): Promise<Match<I>[] | Match<I>[][]>;
  async query(
    options: SingleQuery | TextQuery | BatchQuery | WordQuery | ProfiledQuery,
    results = plainResults,
  ): Promise<Match[] | Match[][] | ProfiledMatches> {
    const taken = takeOwnOptions(options, methodOptions.query);
    // A query with a profile calls this again without it.
    if (currentProfile() === undefined) checkPartial(taken);
    if (asksForProfile(taken)) return this.#profiled(withoutProfile(taken), results);
    const request = taken as SingleQuery | TextQuery | BatchQuery | WordQuery;
    const index = this.#within(request.namespace);
    if (isWordQuery(request)) {
      const checked = checkWordQuery(request, results);
      return this.#calls.read(request.signal, () => answerWords(index, this.#texts, checked));
    }
    const { subject, checked } = checkQuery(request, results);
    const { rerank, signal } = request as Partial<RankedQuery>;
    if (rerank === undefined) {
      const answer = answerQuery(index, this.#texts, subject, checked);
      return this.#calls.read(signal, () => start(answer, signal));
    }
    const ranked = { contents: checkRanked(subject), rerank };
    return this.#calls.read(signal, () => answerRanked(index, this.#texts, ranked, checked));
  }

  async #profiled(request: SingleQuery, results: ResultSettings): Promise<ProfiledMatches> {
    const { clock } = this.#index;
    const query = () => served(this).query(request, results) as Promise<Match[] | Match[][]>;
    return profiled(query, () => clock.steady());
  }

  get<const I extends readonly ItemField[] = readonly ItemField[]>(
    ids: readonly string[],
    options?: GetOptions<I>,
  ): Promise<StoredItem<I>[]>;
  async get(ids: readonly string[], options: GetOptions = {}, results = plainResults): Promise<StoredItem[]> {
    options = takeOptions(options, methodOptions.get);
    const own = takeIds(ids);
    checkIds(own, "ids");
    const fields = checkFields(options, results);
    const index = this.#within(options.namespace);
    return this.#calls.read(options.signal, () => getItems(index, own, fields));
  }

  async delete(selection: Selection, options: ChangeOptions = {}): Promise<void> {
    const selected = checkSelection(selection);
    const { namespace, signal } = takeOptions(options, methodOptions.delete);
    if (selected.ids !== undefined) checkIds(selected.ids, "ids");
    const index = this.#within(namespace);
    await this.#write(signal, () => deleteSelected(index, selected, signal));
  }

  listIds(options?: ListIdsOptions): Promise<string[]>;
  async listIds(options: ListIdsOptions = {}, results = plainResults): Promise<string[]> {
    options = takeOptions(options, methodOptions.listIds);
    const listing = checkListIds(options, results);
    const index = this.#within(options.namespace);
    return this.#calls.read(options.signal, () => listIds(index, listing));
  }

  listItems<const I extends readonly ItemField[] = readonly ItemField[]>(
    options?: ListItemsOptions<I>,
  ): Promise<ItemPage<I>>;
  async listItems(options: ListItemsOptions = {}, results = plainResults): Promise<ItemPage> {
    options = takeOptions(options, methodOptions.listItems);
    const cursor = decodeCursor(options.cursor);
    const listing = checkPage(options, results);
    const index = this.#within(options.namespace);
    return this.#calls.read(options.signal, () => listItems(index, listing, cursor));
  }

  items<const I extends readonly ItemField[] = readonly ItemField[]>(
    options?: ItemsOptions<I>,
  ): AsyncGenerator<StoredItem<I>, void, undefined>;
  items(options: ItemsOptions = {}): AsyncGenerator<StoredItem, void, undefined> {
    return generatorOf(() => {
      const own = takeOptions(options, methodOptions.items);
      const listing = checkListing(own, plainResults, own.pageSize);
      return listEach(this.#within(own.namespace), listing, (work) => this.#calls.read(own.signal, work));
    });
  }

  async count(options: CountOptions = {}): Promise<number> {
    const { filter, namespace, signal } = takeOptions(options, methodOptions.count);
    const compiled = compiledFilter(filter);
    const index = this.#within(namespace);
    return this.#calls.read(signal, () => count(index, compiled, signal));
  }

  erase(namespace: string, options?: CallOptions): Promise<ErasureReceipt> {
    return this.namespaces.erase(namespace, options);
  }

  async train(options: TrainOptions = {}): Promise<void> {
    options = takeOptions(options, methodOptions.train);
    await this.#calls.write(options.signal, prepareTraining(this.#index, options));
  }

  async compact(options: CallOptions = {}): Promise<void> {
    const { signal } = takeOptions(options, methodOptions.compact);
    this.#index.keys.check("read-write", this.indexName);
    await this.#calls.write(signal, () => compactAndCollect(this.#index, signal));
  }

  async prefetch(options: CallOptions = {}): Promise<boolean> {
    const { signal } = takeOptions(options, methodOptions.prefetch);
    return this.#calls.read(signal, () => prefetch(this.#within(), signal));
  }

  async rotateKey(newKey: IndexKey, options: CallOptions = {}): Promise<void> {
    const { signal } = takeOptions(options, methodOptions.rotateKey);
    const source = parseKeySource(newKey);
    await this.#calls.write(signal, () => this.#index.access.rotate(source));
  }

  async reencrypt(options: CallOptions = {}): Promise<void> {
    const { signal } = takeOptions(options, methodOptions.reencrypt);
    await this.#calls.write(signal, () => reencrypt(this.#index, signal));
  }

  async anchor(options: CallOptions = {}): Promise<string> {
    const { signal } = takeOptions(options, methodOptions.anchor);
    return this.#calls.read(signal, () => presentAnchor(this.#index));
  }

  async describe(options: CallOptions = {}): Promise<IndexDescription> {
    const { signal } = takeOptions(options, methodOptions.describe);
    return this.#calls.read(signal, () => describe(this.#within()));
  }

  /** For the service: see `ServedIndex`. */
  measuredRecall(): readonly MeasuredRecall[] {
    return measuredRecall(this.#within());
  }

  [checkModel](embedder: Embedder): Promise<void> {
    return new IndexEmbedder(embedder, this.#index.model, this.indexName).check();
  }

  [itemGroups](): ItemGroups {
    return new IndexGroups(this.#index, this.#calls);
  }

  [inspect.custom](): string {
    return `EncryptedIndex(${JSON.stringify(this.indexName)})`;
  }

  #within(namespace?: string): OpenIndex {
    return restrictToNamespace(this.#index, namespace);
  }

  /** Runs a change of items. */
  async #write<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const { keys, maintenance } = this.#index;
    keys.check("read-write", this.indexName);
    return this.#calls.write(signal, () => maintenance.duringWrite(work));
  }
}
