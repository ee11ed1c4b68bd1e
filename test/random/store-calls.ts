/** Random calls of a LangChain store, with or without a filter of its own, against the plain index. */

import { Document } from "@langchain/core/documents";
import { maximalMarginalRelevance } from "@langchain/core/utils/math";
import { type Client, EncryptedVectorStore, type VectorIndex } from "../../src/index.js";
import { type CompiledFilter, type Filter, matchesEverything } from "../../src/api/filter/compile.js";
import { everyList } from "./checked-reads.js";
import type { Choice } from "./choice.js";
import { randomFilter, randomMetadata } from "./documents.js";
import type { PlainIndex } from "./plain-index.js";
import type { RandomItems } from "./random-items.js";

const kMax = 10_000;

export interface StoreAddress {
  readonly client: Client;
  readonly indexName: string;
  readonly indexKey: string;
}

type RandomFilter = CompiledFilter & { readonly filter: Filter };

export class StoreCalls {
  readonly #store: EncryptedVectorStore;
  readonly #index: VectorIndex;
  readonly #plain: PlainIndex;
  readonly #random: RandomItems;
  readonly #choice: Choice;
  readonly #own: RandomFilter | undefined;
  #queryVector: number[] = [];

  /** `index`: the one that the store opens, on another handle. */
  constructor(
    address: StoreAddress,
    index: VectorIndex,
    plain: PlainIndex,
    random: RandomItems,
    choice: Choice,
  ) {
    this.#index = index;
    this.#plain = plain;
    this.#random = random;
    this.#choice = choice;
    this.#own = choice.chance(0.6) ? this.#filter() : undefined;
    const embed = (texts: string[]) => Promise.resolve(texts.map(() => this.#queryVector));
    this.#store = new EncryptedVectorStore(embed, {
      ...address,
      metric: plain.metric,
      nProbes: everyList,
      ...(this.#own && { filter: this.#own.filter }),
    });
  }

  run(): Promise<void> {
    return this.#choice.of([
      () => this.#add(),
      () => this.#search(),
      () => this.#search(),
      () => this.#diverse(),
      () => this.#get(),
      () => this.#deleteIds(),
      () => this.#deleteMatching(),
    ])();
  }

  #filter(): RandomFilter | undefined {
    const documents = [...this.#plain.items.values()].map(({ metadata }) => metadata);
    return documents.length === 0 ? undefined : randomFilter(this.#choice, documents);
  }

  /** The ids that the store shows, under another filter. */
  #visible(filter: RandomFilter | undefined): string[] {
    const both = (metadata: Record<string, unknown>) =>
      (this.#own?.matches(metadata) ?? true) && (filter?.matches(metadata) ?? true);
    return this.#plain.matching(both).map(({ id }) => id);
  }

  /** Whether the store's filter matches a document, and the item that it replaces. */
  #isWithin(id: string, metadata: Record<string, unknown>): boolean {
    const replaced = this.#plain.items.get(id);
    const matches = this.#own?.matches ?? (() => true);
    return matches(metadata) && (replaced === undefined || matches(replaced.metadata));
  }

  async #add(): Promise<void> {
    const choice = this.#choice;
    const documents = choice.list(choice.below(6), () => {
      const pageContent = choice.of(["", "text", "x".repeat(choice.below(2000))]);
      return new Document({ id: this.#random.id(), pageContent, metadata: randomMetadata(choice, 0.05) });
    });
    const vectors = documents.map(() => this.#random.vector());
    const adding = this.#store.addVectors(vectors, documents);
    if (!documents.every(({ id = "", metadata }) => this.#isWithin(id, metadata))) {
      const code = await adding.then(
        () => "none",
        (error: unknown) => (error as { readonly code?: unknown }).code,
      );
      if (code !== "forbidden") throw new Error(`a document beyond the filter: ${String(code)}`);
      return;
    }
    const ids = await adding;
    expectSame(
      ids,
      documents.map(({ id }) => id),
      "ids of added documents",
    );
    this.#plain.upsert(
      documents.map(({ id = "", pageContent: contents, metadata }, i) => ({
        id,
        vector: vectors[i],
        contents,
        metadata,
      })),
    );
  }

  async #search(): Promise<void> {
    const filter = this.#choice.chance(0.5) ? this.#filter() : undefined;
    const visible = this.#visible(filter);
    const k = this.#choice.of([0, 1, 4, kMax]);
    const found = await this.#store.similaritySearchVectorWithScore(this.#random.vector(), k, filter?.filter);
    const ids = found.map(([{ id = "" }]) => id);
    const allowed = new Set(visible);
    if (ids.length !== Math.min(k, visible.length)) throw new Error(`${ids.length} of ${visible.length}`);
    for (const id of ids) if (!allowed.delete(id)) throw new Error(`${id}: twice, or not visible`);
    const scores = found.map(([, score]) => score);
    if (!scores.every((score, i) => score >= 0 && score <= 1 && !(score > scores[i - 1]))) {
      throw new Error(`scores ${scores.join()}`);
    }
  }

  /** As LangChain's own function picks from the nearest. */
  async #diverse(): Promise<void> {
    const choice = this.#choice;
    this.#queryVector = this.#random.vector();
    const filter = choice.chance(0.3) ? this.#filter() : undefined;
    const [k, fetchK, lambda] = [choice.below(8), 1 + choice.below(30), choice.of([0, 0.3, 1])];
    const options = { k, fetchK, lambda, ...(filter && { filter: filter.filter }) };
    const found = await this.#store.maxMarginalRelevanceSearch("text", options);
    const ids = found.map(({ id = "" }) => id);
    const visible = new Set(this.#visible(filter));
    if (ids.length !== Math.min(k, visible.size)) throw new Error(`${ids.length} of ${visible.size}`);
    const both = [this.#own, filter].flatMap((each) => (each === undefined ? [] : [each.filter]));
    const nearest = await this.#index.query({
      queryVector: this.#queryVector,
      topK: k === 0 ? 0 : Math.max(k, fetchK),
      nProbes: everyList,
      include: ["decoded"],
      ...(both.length > 0 && { filter: { $and: both } }),
    });
    for (const id of ids) if (!visible.delete(id)) throw new Error(`${id}: twice, or not visible`);
    const vectors = nearest.map(({ decoded }) => [...decoded]);
    // LangChain gives NaN for vectors without a direction, and then picks nothing.
    const hasDirection = (vector: readonly number[]) => Math.hypot(...vector) > 1e-15;
    if (![this.#queryVector, ...vectors].every(hasDirection)) return;
    const picked = maximalMarginalRelevance(this.#queryVector, vectors, lambda, k);
    expectSame(
      ids,
      picked.map((i) => nearest[i].id),
      "picked documents",
    );
  }

  async #get(): Promise<void> {
    const ids = this.#choice.list(5, () => this.#random.id());
    const found = await this.#store.getByIds(ids);
    const visible = new Set(this.#visible(undefined));
    expectSame(
      found.map(({ id }) => id),
      ids.filter((id) => visible.has(id)),
      "documents",
    );
  }

  async #deleteIds(): Promise<void> {
    const ids = this.#choice.list(5, () => this.#random.id());
    await this.#store.delete({ ids });
    const visible = new Set(this.#visible(undefined));
    for (const id of ids) if (visible.has(id)) this.#plain.items.delete(id);
  }

  async #deleteMatching(): Promise<void> {
    const filter = this.#filter();
    if (filter === undefined || matchesEverything(filter.root)) return;
    await this.#store.delete({ filter: filter.filter });
    for (const id of this.#visible(filter)) this.#plain.items.delete(id);
  }
}

function expectSame(found: readonly unknown[], expected: readonly unknown[], what: string): void {
  if (JSON.stringify(found) === JSON.stringify(expected)) return;
  throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
}
