/** An index on a service, with the interface and the defaults of the embedded one. */

import { checkSelection } from "../api/check-selection.js";
import { type Filter, takeFilter } from "../api/filter/compile.js";
import { methodOptions } from "../api/method-options.js";
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
  ProfiledMatches,
  ProfiledQuery,
  ProfiledResult,
  Namespaces,
  OpenIndexOptions,
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
import { asksForProfile } from "../api/profiled-query.js";
import { generatorOf } from "../async/calls.js";
import { takeOptions } from "../checks/option-names.js";
import type { Connection, RequestOptions } from "./connection.js";
import { embeddedOnly, RemoteNamespaces, RemoteWraps } from "./remote-wraps.js";
import { inBatches, isTooLarge, sendItems, sendQuery } from "./send.js";
import {
  decodeAddress,
  decodeAnchorBody,
  decodeCount,
  decodeDescription,
  decodeErasureReceipt,
  decodeItemPage,
  decodeNames,
  decodeStoredItems,
  decodeUpdateResult,
  encodeAddress,
  encodeAnchorCheck,
  encodeCount,
  encodeListIds,
  encodeListItems,
  encodeNamespace,
  encodeQuery,
  encodeRotateKey,
  encodeSelection,
  encodeTrain,
  encodeUpdate,
  type Query,
  sumOfProfiles,
  texts,
} from "./wire/wire.js";

/** Ids per page: at 512 bytes each, they fit into one response. */
const idsPerPage = 50_000;
/** Ids per request: at 512 bytes each, all escaped, they fit. */
const idsTogether = 1000;

export class RemoteIndex implements VectorIndex {
  readonly indexName: string;
  readonly wraps: Wraps = new RemoteWraps((...request) => this.#call(...request));
  readonly namespaces: Namespaces = new RemoteNamespaces((...request) => this.#read(...request));
  #address: OpenIndexOptions;
  readonly #connection: Connection;

  constructor(connection: Connection, options: OpenIndexOptions) {
    this.indexName = options.indexName;
    // Copies the key as text: the caller may overwrite its bytes.
    this.#address = decodeAddress(encodeAddress(options));
    this.#connection = connection;
  }

  /**
   * Sends up to 10,000 items and 32 MiB of JSON as one atomic request, and more as several. If one
   * of them fails, those before it stay stored. All items are checked as far as possible before the
   * first request.
   */
  async upsert(items: readonly Item[], options: UpsertOptions = {}): Promise<UpsertResult> {
    options = takeOptions(options, methodOptions.upsert);
    return this.#connection.calls.write(options.signal, () =>
      sendItems(this.#connection, this.#address, items, options),
    );
  }

  /** Sends up to 1,000 ids as one atomic request, and more as several. */
  async update(
    selection: UpdateSelection,
    change: ItemChange,
    options: ChangeOptions = {},
  ): Promise<UpdateResult> {
    const { ids, ...body } = encodeUpdate(selection, change);
    options = takeOptions(options, methodOptions.update);
    const { signal } = options;
    const within = encodeNamespace(options);
    return this.#connection.calls.write(signal, async () => {
      const send = async (part?: readonly string[]) =>
        decodeUpdateResult(
          await this.#connection.post(
            "/v1/vectors/update",
            { ...encodeAddress(this.#address), ...body, ids: part, ...within },
            { signal },
          ),
        );
      if (ids === undefined || ids === null) return send();
      const distinct = [...new Set(texts(ids, "ids"))];
      const results = await inBatches(distinct, idsTogether, async (part) => [await send(part)]);
      return {
        matched: results.reduce((sum, { matched }) => sum + matched, 0),
        updated: results.reduce((sum, { updated }) => sum + updated, 0),
      };
    });
  }

  /** Sends up to 1,000 vectors as one request, or as several if their results are too large for one. */
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
    request: SingleQuery | TextQuery | BatchQuery | WordQuery | ProfiledQuery,
  ): Promise<Match[] | Match[][] | ProfiledMatches> {
    request = takeOptions(request, methodOptions.query);
    return this.#connection.calls.write(request.signal, () => this.#query(request));
  }

  async #query(request: object & CallOptions): Promise<Match[] | Match[][] | ProfiledMatches> {
    const { signal } = request;
    const body = encodeQuery(this.#address, request as Query);
    const isBatch = Array.isArray((request as Partial<BatchQuery>).queryVectors);
    const { lists, profiles } = await sendQuery(this.#connection, body, { isBatch, signal });
    const matches = isBatch ? lists : lists[0];
    return asksForProfile(request) ? { matches, profile: sumOfProfiles(profiles) } : matches;
  }

  get<const I extends readonly ItemField[] = readonly ItemField[]>(
    ids: readonly string[],
    options?: GetOptions<I>,
  ): Promise<StoredItem<I>[]>;
  async get(ids: readonly string[], options: GetOptions = {}): Promise<StoredItem[]> {
    options = takeOptions(options, methodOptions.get);
    return this.#connection.calls.write(options.signal, () => this.#get(ids, options));
  }

  async #get(ids: readonly string[], { include, signal, ...options }: GetOptions): Promise<StoredItem[]> {
    const checked = texts(ids, "ids");
    const within = encodeNamespace(options);
    const fields = include && texts(include, "include");
    return inBatches(checked, idsTogether, async (part) => {
      const body = { ...encodeAddress(this.#address), ids: part, include: fields, ...within };
      const answer = await this.#connection.post("/v1/vectors/get", body, { signal, isIdempotent: true });
      return decodeStoredItems(answer);
    });
  }

  /** Sends up to 1,000 ids as one atomic request, and more as several. */
  async delete(selection: Selection, options: ChangeOptions = {}): Promise<void> {
    const checked = checkSelection(selection);
    options = takeOptions(options, methodOptions.delete);
    return this.#connection.calls.write(options.signal, () => this.#delete(checked, options));
  }

  async #delete(selection: Selection, { signal, ...options }: ChangeOptions): Promise<void> {
    const { ids, filter } = selection;
    const within = encodeNamespace(options);
    const send = async (part: Selection) => {
      const body = { ...encodeSelection(this.#address, part), ...within };
      // A repeated filter could also match items that were stored in between.
      const isIdempotent = part.ids !== undefined && part.filter === undefined;
      await this.#connection.post("/v1/vectors/delete", body, { signal, isIdempotent });
      return [];
    };
    if (ids === undefined) await send(selection);
    else await inBatches(texts(ids, "ids"), idsTogether, (part) => send({ ids: part, filter }));
  }

  async listIds(options: ListIdsOptions = {}): Promise<string[]> {
    options = withOwnFilter(takeOptions(options, methodOptions.listIds));
    const list = async (page: ListIdsOptions) =>
      decodeNames(await this.#read("/v1/vectors/list_ids", encodeListIds(page), page), "ids");
    try {
      return await list(options);
    } catch (error) {
      if (!isTooLarge(error)) throw error;
    }
    const { limit = Infinity } = options;
    const ids: string[] = [];
    for (let { after } = options; ; after = ids.at(-1)) {
      const wanted = Math.min(limit - ids.length, idsPerPage);
      const page = await list({ ...options, limit: wanted, after });
      for (const id of page) ids.push(id);
      if (page.length < wanted || ids.length === limit) return ids;
    }
  }

  listItems<const I extends readonly ItemField[] = readonly ItemField[]>(
    options?: ListItemsOptions<I>,
  ): Promise<ItemPage<I>>;
  async listItems(options: ListItemsOptions = {}): Promise<ItemPage> {
    options = takeOptions(options, methodOptions.listItems);
    return decodeItemPage(await this.#read("/v1/vectors/list", encodeListItems(options), options));
  }

  items<const I extends readonly ItemField[] = readonly ItemField[]>(
    options?: ItemsOptions<I>,
  ): AsyncGenerator<StoredItem<I>, void, undefined>;
  items(options: ItemsOptions = {}): AsyncGenerator<StoredItem, void, undefined> {
    const list = (page: ListItemsOptions) => this.listItems(page);
    return generatorOf(() => itemsOf(takeItemsOptions(options), list));
  }

  async count(options: CountOptions = {}): Promise<number> {
    options = takeOptions(options, methodOptions.count);
    return decodeCount(await this.#read("/v1/vectors/num_vectors", encodeCount(options), options));
  }

  async erase(namespace: string, options: CallOptions = {}): Promise<ErasureReceipt> {
    options = takeOptions(options, methodOptions.erase);
    return decodeErasureReceipt(await this.#call("/v1/indexes/erase", { namespace }, options));
  }

  /** The service finishes the training even if the call is aborted. */
  async train(options: TrainOptions = {}): Promise<void> {
    options = takeOptions(options, methodOptions.train);
    if (options.onProgress !== undefined) throw embeddedOnly("onProgress");
    await this.#call("/v1/indexes/train", encodeTrain(this.#address, options), options);
  }

  /** The service finishes the compaction even if the call is aborted. */
  async compact(options: CallOptions = {}): Promise<void> {
    options = takeOptions(options, methodOptions.compact);
    await this.#call("/v1/indexes/compact", {}, options);
  }

  async rotateKey(newKey: IndexKey, options: CallOptions = {}): Promise<void> {
    options = takeOptions(options, methodOptions.rotateKey);
    const next = decodeAddress(encodeAddress({ indexName: this.indexName, indexKey: newKey }));
    await this.#call("/v1/indexes/rotate_key", encodeRotateKey(this.#address, next.indexKey), options);
    this.#address = next;
  }

  async prefetch(options: CallOptions = {}): Promise<boolean> {
    options = takeOptions(options, methodOptions.prefetch);
    throw embeddedOnly("prefetch");
  }

  /** The service finishes the renewal even if the call is aborted. */
  async reencrypt(options: CallOptions = {}): Promise<void> {
    options = takeOptions(options, methodOptions.reencrypt);
    await this.#call("/v1/indexes/reencrypt", {}, options);
  }

  async anchor(options: CallOptions = {}): Promise<string> {
    options = takeOptions(options, methodOptions.anchor);
    return this.checkAnchor(undefined, options);
  }

  /**
   * Returns the present anchor, after the service has checked that the index descends from the
   * given one.
   */
  async checkAnchor(anchor: string | undefined, options: CallOptions): Promise<string> {
    const body = encodeAnchorCheck({ ...this.#address, anchor });
    return decodeAnchorBody(await this.#read("/v1/indexes/anchor", body, options));
  }

  async describe(options: CallOptions = {}): Promise<IndexDescription> {
    options = takeOptions(options, methodOptions.describe);
    return decodeDescription(await this.#read("/v1/indexes/describe", {}, options));
  }

  /** Sends one read request. `body` lacks the address of the index. */
  #read(path: string, body: object, { signal }: CallOptions): Promise<unknown> {
    return this.#call(path, body, { signal, isIdempotent: true });
  }

  #call(path: string, body: object, options: RequestOptions): Promise<unknown> {
    const whole = { ...encodeAddress(this.#address), ...body };
    return this.#connection.calls.write(options.signal, () => this.#connection.post(path, whole, options));
  }
}

// Options of lists that take several requests, copied at the call, and the pages of all items.

function withOwnFilter<T extends { readonly filter?: Filter | null | undefined }>(options: T): T {
  return { ...options, filter: options.filter && takeFilter(options.filter) };
}

function takeItemsOptions(options: ItemsOptions): ItemsOptions {
  const { include, ...own } = takeOptions(options, methodOptions.items);
  return withOwnFilter({ ...own, include: include && texts(include, "include") });
}

async function* itemsOf(
  { pageSize, after, ...others }: ItemsOptions,
  list: (page: ListItemsOptions) => Promise<ItemPage>,
): AsyncGenerator<StoredItem, void, undefined> {
  let page = await list({ ...others, limit: pageSize, after });
  yield* page.items;
  while (page.cursor !== undefined) {
    page = await list({ ...others, limit: pageSize, cursor: page.cursor });
    yield* page.items;
  }
}
