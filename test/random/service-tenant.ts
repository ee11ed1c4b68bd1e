/** A client of the service with an index of its own, so that what it finds there depends on its requests alone. */

import { expect } from "vitest";
import type { IndexConfigInput, Match, Metric, StoredItem } from "../../src/core.js";
import { matchesEverything } from "../../src/api/filter/compile.js";
import type { Answer } from "../http/service.js";
import { checkItem, checkMatches } from "./answers.js";
import { everyList } from "./checked-reads.js";
import type { Choice } from "./choice.js";
import { type Metadata, randomFilter } from "./documents.js";
import { PlainIndex } from "./plain-index.js";
import { RandomItems } from "./random-items.js";

export interface Address {
  readonly index_name: string;
  readonly index_key: string;
}

/** Sends a request to one of the services, under a key that may make it. */
export type Send = (path: string, body: object) => Promise<Answer>;

/** Small, so that requests at and beyond them are quick. */
export const limits = {
  itemsMax: 10_000,
  bodyBytesMax: 200_000,
  queryBytesMax: 120_000,
  resultBytesMax: 250_000,
  resultsBytesMax: 250_000,
  // No request is refused because it waited.
  waitMsMax: 3_600_000,
};
const metadataBytesMax = 65_536;
/** JSON of a body that is nested deeper is refused. */
const depthMax = 32;

interface JsonItem {
  readonly id: string;
  readonly vector: readonly number[];
  readonly contents?: string;
  readonly metadata?: Metadata;
}

export class ServiceTenant {
  readonly address: Address;
  readonly #choice: Choice;
  readonly #random: RandomItems;
  readonly plain: PlainIndex;

  constructor(address: Address, choice: Choice) {
    this.address = address;
    this.#choice = choice;
    this.#random = new RandomItems(choice, choice.of([2, 3, 4, 16, 130]));
    const type = choice.of<IndexConfigInput>([{ type: "ivfflat" }, { type: "ivfflat" }, { type: "ivf" }]);
    const metric = choice.of<Metric>(["euclidean", "cosine", "squared_euclidean"]);
    this.plain = new PlainIndex(type, metric);
  }

  /** What an index of this tenant is created with. */
  get config(): object {
    return { index_config: { type: this.plain.config.type }, metric: this.plain.metric };
  }

  request(send: Send): Promise<void> {
    return this.#choice.weighted<() => Promise<void>>([
      [5, () => () => this.#upsert(send)],
      [2, () => () => this.#update(send)],
      [2, () => () => this.#delete(send)],
      [3, () => () => this.#get(send)],
      [4, () => () => this.#query(send)],
      [2, () => () => this.#listIds(send)],
      [1, () => () => this.#list(send)],
      [1, () => () => this.count(send)],
      [0.4, () => () => this.#train(send)],
      [0.4, () => () => this.#done(send, "/v1/indexes/compact")],
      [0.5, () => () => this.#done(send, "/v1/indexes/anchor")],
    ])();
  }

  /** Some items, as JSON says them: it knows no -0. */
  items(): JsonItem[] {
    const items = this.#random.items().map((item) => ({ ...item, vector: Array.from(item.vector ?? []) }));
    return JSON.parse(JSON.stringify(items)) as JsonItem[];
  }

  async #upsert(send: Send): Promise<void> {
    const items = this.items();
    const isConditional = this.#choice.chance(0.2);
    const deleting = this.#choice.chance(0.1) ? this.#filter() : undefined;
    const body = {
      items,
      ...(isConditional && { skip_unchanged: true }),
      ...(deleting && { delete_filter: deleting.filter }),
    };
    const answer = await send("/v1/vectors/upsert", { ...this.address, ...body });
    const isInvalid = deleting !== undefined && matchesEverything(deleting.root);
    if (this.#isRefused(answer, body, limits.bodyBytesMax, isInvalid)) return;
    const stored = new Set(items.map(({ id }) => id));
    if (deleting !== undefined) {
      for (const { id } of this.plain.matching(deleting.matches))
        if (!stored.has(id)) this.plain.items.delete(id);
    }
    this.plain.upsert(items);
  }

  async #update(send: Send): Promise<void> {
    const { selection, selects } = this.#selection("update_all");
    const metadata = {
      updated: this.#choice.below(9),
      ...(this.#choice.chance(0.3) && { a: [1, { b: null }] }),
    };
    const replace = this.#choice.chance(0.3);
    const unset = !replace && this.#choice.chance(0.5) ? ["a", "team", "n"] : [];
    const change = { metadata: unset.length > 0 ? { updated: 1 } : metadata, unset, replace };
    const body = { ...selection, ...change };
    const answer = await send("/v1/vectors/update", { ...this.address, ...body });
    const selected = selects === undefined ? [] : [...this.plain.items.values()].filter(selects);
    const changed = selected.map((item) => ({ ...item, metadata: this.#changed(item.metadata, change) }));
    const isTooLong = changed.some(
      (item) => Buffer.byteLength(JSON.stringify(item.metadata)) > metadataBytesMax,
    );
    // Then nothing is changed.
    if (this.#isRefused(answer, body, limits.queryBytesMax, selects === undefined || isTooLong)) return;
    expect(answer.body).toMatchObject({ matched: selected.length });
    for (const item of changed) this.plain.items.set(item.id, item);
  }

  #changed(
    old: Metadata,
    change: { metadata: Metadata; unset: readonly string[]; replace: boolean },
  ): Metadata {
    const kept = change.replace ? [] : Object.entries(old).filter(([name]) => !change.unset.includes(name));
    const merged = new Map([...kept, ...Object.entries(change.metadata)]);
    return JSON.parse(JSON.stringify(Object.fromEntries(merged))) as Metadata;
  }

  async #delete(send: Send): Promise<void> {
    const { selection, selects } = this.#selection("delete_all");
    const answer = await send("/v1/vectors/delete", { ...this.address, ...selection });
    if (this.#isRefused(answer, selection, limits.queryBytesMax, selects === undefined)) return;
    for (const item of this.plain.items.values()) if (selects?.(item)) this.plain.items.delete(item.id);
  }

  /** Items by id, by filter, by both, or all. `selects` is undefined if it is to be refused. */
  #selection(all: string): {
    readonly selection: object;
    readonly selects: ((item: { id: string; metadata: Metadata }) => boolean) | undefined;
  } {
    if (this.#choice.chance(0.05)) return { selection: { [all]: true }, selects: () => true };
    const ids = this.#choice.list(this.#choice.below(6), () => this.#random.id());
    const wanted = new Set(ids);
    const filter = this.#choice.chance(0.4) ? this.#filter() : undefined;
    if (filter === undefined) return { selection: { ids }, selects: ({ id }) => wanted.has(id) };
    const { matches, root } = filter;
    const isRefused = matchesEverything(root);
    if (this.#choice.chance(0.5)) {
      return {
        selection: { ids, filters: filter.filter },
        // Updates take one of them.
        selects:
          all === "delete_all" && !isRefused
            ? ({ id, metadata }) => wanted.has(id) && matches(metadata)
            : undefined,
      };
    }
    const selection = { [this.#choice.of(["filters", "filter"])]: filter.filter };
    return { selection, selects: isRefused ? undefined : ({ metadata }) => matches(metadata) };
  }

  /** Ids may repeat, so that the results are more than a request may have. */
  async #get(send: Send): Promise<void> {
    const ids = this.#choice.list(this.#choice.of([0, 1, 5, 300]), () => this.#random.id());
    const include = this.#choice.of([undefined, [], ["contents"], ["metadata", "decoded"]]);
    const answer = await send("/v1/vectors/get", { ...this.address, ids, include });
    const expected = ids.flatMap((id) => this.plain.items.get(id) ?? []);
    if (this.#isRefused(answer, { ids }, limits.queryBytesMax) || isTooLarge(answer, expected)) return;
    const found = answer.body.results as readonly StoredItem[];
    expect(found.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
    found.forEach((item, i) =>
      this.#checkItem(item, expected[i].id, include ?? ["vector", "contents", "metadata"]),
    );
  }

  #checkItem(item: StoredItem, id: string, include: readonly string[]): void {
    const stored = this.plain.items.get(id);
    if (stored === undefined) throw new Error(`${id} was deleted`);
    const { vector, decoded } = item;
    checkItem(
      this.plain,
      {
        ...item,
        ...(vector && { vector: Float32Array.from(vector) }),
        ...(decoded && { decoded: Float32Array.from(decoded) }),
      },
      stored,
      include,
    );
  }

  async #query(send: Send): Promise<void> {
    const choice = this.#choice;
    const vectors = choice.list(choice.of([1, 1, 4, 70]), () => this.#random.vector().map((x) => x + 0));
    const filtered = choice.chance(0.5) ? this.#filter() : undefined;
    const topK = choice.of([0, 1, 5, 100, 10_000]);
    const probing = choice.of<object>([
      { n_probes: everyList },
      { n_probes: 0 },
      { n_probes: 1 },
      { greedy: true },
    ]);
    const include = choice.of([
      ["distance"],
      ["distance", "metadata"],
      ["distance", "contents", "metadata", "decoded"],
      ["contents"],
      [],
    ]);
    const body = { query_vectors: vectors, filters: filtered?.filter, top_k: topK, ...probing, include };
    const answer = await send("/v1/vectors/query", { ...this.address, ...body });
    const matching = this.plain.matching(filtered?.matches ?? (() => true));
    // Whichever are the nearest: results are no larger than as many of the largest.
    const results = vectors.flatMap(() => largest(matching, topK));
    if (this.#isRefused(answer, body, limits.queryBytesMax) || isTooLarge(answer, results)) return;
    const isExhaustive =
      !this.plain.trained || "greedy" in probing || JSON.stringify(probing).includes(`${everyList}`);
    const isCompared = filtered !== undefined && this.plain.comparesMatches;
    const isNearest = this.plain.isExact && (isExhaustive || isCompared);
    const isFull = isExhaustive || isNearest || JSON.stringify(probing) === '{"n_probes":0}';
    const lists = answer.body.results as readonly (readonly Match[])[];
    expect(lists).toHaveLength(vectors.length);
    lists.forEach((found, i) => {
      const asked = { topK, include, filter: filtered?.filter, isFull, isNearest };
      const decodedFound = found.map(({ decoded, ...match }) => ({
        ...match,
        ...(decoded && { decoded: Float32Array.from(decoded) }),
      }));
      checkMatches(this.plain, Float32Array.from(vectors[i]), decodedFound, matching, asked);
    });
  }

  async #listIds(send: Send): Promise<void> {
    const limit = this.#choice.of([undefined, 0, 1, 7, 1000]);
    const after = this.#choice.chance(0.5) ? this.#random.id() : undefined;
    const filtered = this.#choice.chance(0.3) ? this.#filter() : undefined;
    const body = { limit, after, filters: filtered?.filter };
    const answer = await send("/v1/vectors/list_ids", { ...this.address, ...body });
    if (this.#isRefused(answer, body, limits.queryBytesMax)) return;
    const matching = this.plain.matching(filtered?.matches ?? (() => true)).map(({ id }) => id);
    const ids = matching.sort().filter((id) => after === undefined || id > after);
    const page = ids.slice(0, limit);
    expect(answer.body).toEqual({ ids: page, count: page.length });
  }

  /** Page by page. */
  async #list(send: Send): Promise<void> {
    const filtered = this.#choice.chance(0.5) ? this.#filter() : undefined;
    const limit = this.#choice.of([1, 7, 40, 1000]);
    const include = this.plain.isExact ? ["vector", "contents", "metadata"] : ["contents", "metadata"];
    const matching = this.plain.matching(filtered?.matches ?? (() => true));
    const listed: string[] = [];
    for (let cursor: unknown; ;) {
      const body = { filters: filtered?.filter, limit, include, cursor };
      const answer = await send("/v1/vectors/list", { ...this.address, ...body });
      if (this.#isRefused(answer, body, limits.queryBytesMax) || isTooLarge(answer, matching)) return;
      const items = answer.body.results as readonly StoredItem[];
      expect(items.length).toBeLessThanOrEqual(limit);
      for (const item of items) {
        listed.push(item.id);
        this.#checkItem(item, item.id, include);
      }
      cursor = answer.body.cursor;
      if (cursor === undefined) break;
    }
    expect(listed).toEqual(matching.map(({ id }) => id).sort());
  }

  async count(send: Send): Promise<void> {
    const filtered = this.#choice.chance(0.5) ? this.#filter() : undefined;
    const body = { filters: filtered?.filter };
    const answer = await send("/v1/vectors/num_vectors", { ...this.address, ...body });
    if (this.#isRefused(answer, body, limits.queryBytesMax)) return;
    expect(answer.body.result).toBe(this.plain.matching(filtered?.matches ?? (() => true)).length);
  }

  /** Every item with all that it has, id by id: whatever is in memory, and however many pages that takes. */
  async checkAll(send: Send): Promise<void> {
    expect(await this.storedIds(send)).toEqual(this.plain.ids());
    for (const id of this.plain.ids()) {
      const { body } = await send("/v1/vectors/get", { ...this.address, ids: [id] });
      const [item] = body.results as readonly StoredItem[];
      this.#checkItem(item, id, ["vector", "contents", "metadata"]);
    }
  }

  async storedIds(send: Send): Promise<readonly string[]> {
    const { body } = await send("/v1/vectors/list_ids", this.address);
    return body.ids as readonly string[];
  }

  async #train(send: Send): Promise<void> {
    const answer = await send("/v1/indexes/train", {
      ...this.address,
      n_lists: this.#choice.of([undefined, 1, 3]),
    });
    if (answer.status !== 422) expect(answer.status).toBe(200);
    // Without items there is nothing to train.
    const { body } = await send("/v1/indexes/describe", this.address);
    this.plain.trained = body.is_trained === true;
  }

  async #done(send: Send, path: string): Promise<void> {
    expect(await send(path, this.address)).toMatchObject({ status: 200 });
  }

  #filter() {
    const documents = [...this.plain.items.values()].map(({ metadata }) => metadata);
    return documents.length === 0 ? undefined : randomFilter(this.#choice, documents);
  }

  /** Whether a request was refused, and rightly: for the size of its body, or if it is invalid. Any other refusal is a fault. */
  #isRefused(answer: Answer, body: object, bytesMax: number, isInvalid = false): boolean {
    const text = JSON.stringify({ ...this.address, ...body });
    if (Buffer.byteLength(text) > bytesMax) return answer.status === 413 || fault(answer, 413);
    if (isInvalid || depthOf(text) > depthMax) return answer.status === 422 || fault(answer, 422);
    if (answer.status === 200 || answer.status === 413) return false;
    return fault(answer, 200);
  }
}

function fault({ status, body }: Answer, expected: number): never {
  throw new Error(`expected ${expected}, got ${status}: ${JSON.stringify(body).slice(0, 1000)}`);
}

/** How deep arrays and objects of a JSON text are nested. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [bracket] of text.replace(/"(?:[^"\\]|\\.)*"/g, "").matchAll(/[[\]{}]/g)) {
    depth += bracket === "[" || bracket === "{" ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

/** So many of the items that are the largest as results. */
function largest<T extends object>(items: readonly T[], count: number): readonly T[] {
  return [...items].sort((a, b) => resultBytes(b) - resultBytes(a)).slice(0, count);
}

/** About what a result takes. */
function resultBytes(item: object): number {
  return JSON.stringify(item).length + 128;
}

/** Refused for the size of its results, and rightly: what was asked for is more than a small part of the limit. */
function isTooLarge({ status, body }: Answer, expected: readonly object[]): boolean {
  if (status !== 413) return false;
  expect(body).toMatchObject({ code: "too_large" });
  const bytes = expected.reduce((sum, item) => sum + resultBytes(item), 0);
  expect(bytes).toBeGreaterThan(limits.resultBytesMax / 8);
  return true;
}
