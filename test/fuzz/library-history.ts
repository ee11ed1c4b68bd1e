/** Random histories of one index under two clients: every answer is that of the plain index, or an error that it deserves. */

import { randomBytes } from "node:crypto";
import {
  type Client,
  createClient,
  generateKey,
  type IndexConfigInput,
  type Item,
  type Metric,
  type QueryOptions,
  SealdexError,
  type VectorIndex,
} from "../../src/core.js";
import { matchesEverything } from "../../src/filter.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { checkItem, checkMatches } from "./answers.js";
import type { Choice } from "./choice.js";
import { randomFilter, randomMetadata } from "./documents.js";
import { invalidCall } from "./invalid-calls.js";
import { PlainIndex, type PlainItem } from "./plain-index.js";

const types: readonly IndexConfigInput[] = [
  { type: "ivfflat" },
  { type: "ivfflat" },
  { type: "ivf" },
  { type: "ivfpq", pqDim: 1, pqBits: 8 },
  { type: "ivfpq", pqDim: 2, pqBits: 4 },
];
const metrics: readonly Metric[] = ["euclidean", "cosine", "squared_euclidean"];
const everyList = Number.MAX_SAFE_INTEGER;

interface OpenClient {
  client: Client;
  index: VectorIndex;
}

export class LibraryHistory {
  readonly #choice: Choice;
  readonly #store: BlobStore = createMemoryStore();
  readonly #address = { indexName: "history", indexKey: generateKey() };
  #plain: PlainIndex;
  /** Distinct from one another in some histories, equal in others. */
  readonly #scale: readonly number[];
  #clients: OpenClient[] = [];
  /** Calls made so far. */
  calls = 0;

  constructor(choice: Choice) {
    this.#choice = choice;
    const dimension = choice.of([2, 2, 4, 6, 30, 64]);
    const config = { ...choice.of(types), dimension };
    const { dimension: _, ...open } = config;
    this.#plain = new PlainIndex(choice.chance(0.5) ? config : open, choice.of(metrics));
    this.#dimension = dimension;
    this.#scale = choice.of([
      [1],
      [1, 0],
      [0.1, 1e-3, 1e3],
      [1e-45, 1e-38, 1e-20],
      [1e12, 1, 1e-12],
      [-0, 0],
    ]);
  }

  readonly #dimension: number;

  async run(steps: number): Promise<void> {
    const { client } = this.#open();
    await this.#create(client);
    await client.close();
    this.#clients = [await this.#load(), await this.#load()];
    if (this.#choice.chance(0.6)) await this.#begin();
    for (let step = 0; step < steps; step++) await this.#step();
    await this.#checkAll();
    for (const each of this.#clients) await each.client.close();
  }

  /** Many lists, which few random steps would make. */
  async #begin(): Promise<void> {
    const items = this.#choice.list(120, () => this.#item());
    await this.#index.upsert(items);
    this.#plain.upsert(items);
    await this.#index.train({ nLists: 12 });
    this.#plain.trained = true;
  }

  async #create(client: Client): Promise<void> {
    const { config, metric } = this.#plain;
    await client.createIndex({ ...this.#address, indexConfig: config, metric });
  }

  #open(): { client: Client } {
    const cacheBytesMax = this.#choice.of([undefined, 1, 20_000, 1_000_000]);
    const client = createClient({
      indexLocation: this.#store,
      automaticTraining: false,
      ...(cacheBytesMax !== undefined && { cacheBytesMax }),
    });
    return { client };
  }

  async #load(): Promise<OpenClient> {
    const { client } = this.#open();
    return { client, index: await client.loadIndex(this.#address) };
  }

  #step(): Promise<void> {
    return this.#choice.weighted([
      [6, () => this.#upsert()],
      [6, () => this.#query()],
      [3, () => this.#get()],
      [1.5, () => this.#deleteIds()],
      [0.7, () => this.#deleteMatching()],
      [0.1, () => this.#deleteAll()],
      [1, () => this.#look()],
      [0.4, () => this.#train()],
      [0.4, () => this.#compact()],
      [0.4, () => this.#reopen()],
      [0.05, () => this.#atLimits()],
      [0.1, () => this.#replaceIndex()],
      [1, () => this.#aborted()],
      [1, () => this.#together()],
      [4, () => this.#invalid()],
    ]);
  }

  get #index(): VectorIndex {
    this.calls++;
    return this.#choice.of(this.#clients).index;
  }

  #vector(): number[] {
    const choice = this.#choice;
    return choice.list(this.#dimension, () => (choice.below(7) - 3) * choice.of(this.#scale));
  }

  #id(): string {
    const choice = this.#choice;
    if (choice.chance(0.95)) return `id ${choice.below(80)}`;
    return choice.of([
      "ü".repeat(256),
      "x".repeat(512),
      "\u{1f600}",
      "__proto__",
      "constructor",
      " ",
      "\u0000",
      "ﬀ",
    ]);
  }

  #item(): Item {
    const choice = this.#choice;
    return {
      id: this.#id(),
      vector: choice.chance(0.5) ? this.#vector() : Float32Array.from(this.#vector()),
      ...(choice.chance(0.7) && { metadata: randomMetadata(choice, 0.02) }),
      ...(choice.chance(0.5) && {
        contents: choice.of(["", "text", "\u{1f600}", "x".repeat(choice.below(3000))]),
      }),
    };
  }

  #items(): Item[] {
    const choice = this.#choice;
    const items = choice.list(choice.below(choice.of([2, 8, 40])), () => this.#item());
    // Ids repeat within one call, and vectors are equal.
    return items.concat(
      items.filter(() => choice.chance(0.1)).map((item) => ({ ...item, contents: "again" })),
    );
  }

  async #upsert(): Promise<void> {
    const items = this.#items();
    await this.#index.upsert(items);
    this.#plain.upsert(items);
  }

  async #query(): Promise<void> {
    const choice = this.#choice;
    const topK = choice.of([0, 1, 2, 5, 20, 100, 10_000]);
    const probing = choice.of<Pick<QueryOptions, "nProbes" | "greedy">>([
      { nProbes: everyList },
      { nProbes: 0 },
      { nProbes: 1 },
      {},
      { greedy: true },
    ]);
    const documents = [...this.#plain.items.values()].map(({ metadata }) => metadata);
    const random = choice.chance(0.5) && documents.length > 0 ? randomFilter(choice, documents) : undefined;
    const filter = random?.filter;
    const vectors = choice.list(choice.chance(0.8) ? 1 : choice.below(70), () => this.#vector());
    const fields = (["distance", "vector", "decoded", "contents", "metadata"] as const).filter(() =>
      choice.chance(0.5),
    );
    const include = this.#plain.isExact ? fields : fields.filter((field) => field !== "vector");
    const options = { topK, ...probing, include, ...(filter && { filter }) };
    const index = this.#index;
    const single = vectors.length === 1 && choice.chance(0.7);
    const results = single
      ? [await index.query({ queryVector: vectors[0], ...options })]
      : await index.query({ queryVectors: vectors, ...options });
    const matching = this.#plain.matching(random?.matches ?? (() => true));
    if (results.length !== vectors.length)
      throw new Error(`${results.length} results of ${vectors.length} queries`);
    // A filter that few rows match is answered by comparing them all.
    const isExhaustive = !this.#plain.trained || probing.nProbes === everyList || probing.greedy === true;
    const isNearest = this.#plain.isExact && (isExhaustive || filter !== undefined);
    const isFull = isExhaustive || isNearest || probing.nProbes === 0;
    results.forEach((found, i) => {
      const asked = { topK, include, isFull, isNearest, filter };
      checkMatches(this.#plain, Float32Array.from(vectors[i]), found, matching, asked);
    });
  }

  async #get(): Promise<void> {
    const choice = this.#choice;
    const ids = choice.list(choice.below(12), () => this.#id());
    const include = choice.of([undefined, [], ["contents"], ["metadata", "decoded"]] as const);
    const found = await this.#index.get(ids, include && { include });
    const expected = ids.flatMap((id) => this.#plain.items.get(id) ?? []);
    if (found.length !== expected.length) throw new Error(`got ${found.length} items of ${expected.length}`);
    found.forEach((item, i) =>
      checkItem(this.#plain, item, expected[i], include ?? ["vector", "contents", "metadata"]),
    );
  }

  async #deleteIds(): Promise<void> {
    const ids = this.#choice.list(this.#choice.below(6), () => this.#id());
    await this.#index.delete({ ids });
    for (const id of ids) this.#plain.items.delete(id);
  }

  async #deleteMatching(): Promise<void> {
    const documents = [...this.#plain.items.values()].map(({ metadata }) => metadata);
    if (documents.length === 0) return;
    const { filter, root, matches } = randomFilter(this.#choice, documents);
    if (matchesEverything(root))
      return this.#refuse((index) => index.delete({ filter }), ["invalid_request"]);
    await this.#index.delete({ filter });
    for (const { id } of this.#plain.matching(matches)) this.#plain.items.delete(id);
  }

  async #deleteAll(): Promise<void> {
    await this.#index.delete({ deleteAll: true });
    this.#plain.items.clear();
  }

  async #look(): Promise<void> {
    const choice = this.#choice;
    const count = await this.#index.count();
    if (count !== this.#plain.items.size) throw new Error(`count ${count} of ${this.#plain.items.size}`);
    const limit = choice.of([0, 1, 7, 1000, Number.MAX_SAFE_INTEGER]);
    const after = choice.chance(0.5) ? this.#id() : undefined;
    const ids = await this.#index.listIds({ limit, ...(after !== undefined && { after }) });
    const expected = this.#plain
      .ids()
      .filter((id) => after === undefined || id > after)
      .slice(0, limit);
    if (JSON.stringify(ids) !== JSON.stringify(expected))
      throw new Error(`ids ${ids.join()} of ${expected.join()}`);
    const { type, metric, dimension, trained } = await this.#index.describe();
    const { config, dimension: decided } = this.#plain;
    const described = [config.type, this.#plain.metric, decided, this.#plain.trained];
    if (JSON.stringify([type, metric, dimension, trained]) !== JSON.stringify(described)) {
      throw new Error(`described as ${JSON.stringify([type, metric, dimension, trained])}`);
    }
  }

  async #checkAll(): Promise<void> {
    await this.#look();
    const items = await this.#index.get(this.#plain.ids());
    const include = ["vector", "contents", "metadata"];
    items.forEach((item) =>
      checkItem(this.#plain, item, this.#plain.items.get(item.id) as PlainItem, include),
    );
  }

  async #train(): Promise<void> {
    const { size } = this.#plain.items;
    const nLists = this.#choice.of([undefined, 1, 2, 5, size, size + 1]);
    if (size === 0 || (nLists ?? 1) > size) {
      return this.#refuse(
        (index) => index.train(nLists === undefined ? {} : { nLists }),
        ["invalid_request"],
      );
    }
    await this.#index.train(nLists === undefined ? {} : { nLists });
    this.#plain.trained = true;
  }

  async #compact(): Promise<void> {
    await this.#index.compact();
  }

  async #reopen(): Promise<void> {
    const at = this.#choice.below(this.#clients.length);
    const [closed] = this.#clients.splice(at, 1, await this.#load());
    const { index, client } = closed;
    const late = this.#choice.chance(0.5) ? index.count() : undefined;
    await client.close();
    // A call made before may end; one made after may not begin.
    await late;
    await expectRefusal(index.count(), ["invalid_request"]);
    await client.close();
  }

  /** Valid calls of the largest size. */
  async #atLimits(): Promise<void> {
    const choice = this.#choice;
    const largest = {
      id: "x".repeat(512),
      vector: this.#vector(),
      metadata: { a: "x".repeat(65_536 - 8) },
      contents: "x".repeat(2 ** 20),
    };
    await this.#index.upsert([largest]);
    this.#plain.upsert([largest]);
    const vectors = choice.list(1000, () => this.#vector());
    const matching = this.#plain.matching(() => true);
    const results = await this.#index.query({ queryVectors: vectors, topK: 10_000, nProbes: everyList });
    const asked = { topK: 10_000, include: ["distance"], filter: undefined, isFull: true, isNearest: false };
    results.forEach((found, i) =>
      checkMatches(this.#plain, Float32Array.from(vectors[i]), found, matching, asked),
    );
    const values = choice.list(10_000, (i) => i);
    await this.#index.query({
      queryVector: vectors[0],
      filter: { $or: [{ n: { $in: values } }, { a: { $nin: values } }] },
    });
    await this.#index.delete({ ids: choice.list(10_000, (i) => `nobody ${i}`) });
  }

  /** Deletes the index, after which nobody has it, and makes one of the same name. */
  async #replaceIndex(): Promise<void> {
    const { client } = this.#choice.of(this.#clients);
    await client.deleteIndex(this.#address);
    for (const { index } of this.#clients) {
      await expectRefusal(index.count(), ["not_found"]);
      await expectRefusal(index.upsert([this.#item()]), ["not_found"]);
      await expectRefusal(index.compact(), ["not_found"]);
    }
    await expectRefusal(client.deleteIndex(this.#address), ["not_found"]);
    this.#plain = new PlainIndex(this.#plain.config, this.#plain.metric);
    await this.#create(client);
    const closing = this.#clients;
    this.#clients = [await this.#load(), await this.#load()];
    for (const each of closing) await each.client.close();
  }

  /** One call that is aborted somewhere on its way: it is as if it had not been made, or as if it had not been aborted. */
  async #aborted(): Promise<void> {
    const choice = this.#choice;
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error("enough");
    const items = this.#items();
    const ids = choice.list(4, () => this.#id());
    const index = this.#index;
    const [call, apply] = choice.of<readonly [() => Promise<unknown>, () => void]>([
      [() => index.upsert(items, { signal }), () => this.#plain.upsert(items)],
      [() => index.delete({ ids }, { signal }), () => ids.forEach((id) => this.#plain.items.delete(id))],
      [() => index.delete({ deleteAll: true }, { signal }), () => this.#plain.items.clear()],
      [() => index.query({ queryVector: this.#vector(), signal }), () => undefined],
      [() => index.listIds({ signal }), () => undefined],
      [() => index.compact({ signal }), () => undefined],
      [() => index.train({ nLists: 1, signal }), () => (this.#plain.trained = true)],
    ]);
    const turns = choice.of([0, 0, 1, 2, 3, 5, 10, 30]);
    if (choice.chance(0.2)) controller.abort(reason);
    const settled = call().then(apply, (error: unknown) => {
      const isEmpty = this.#plain.items.size === 0;
      if (error === reason || (isEmpty && isRefusal(error, ["invalid_request"]))) return;
      throw error;
    });
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    controller.abort(reason);
    await settled;
    await this.#look();
  }

  /** Calls of both clients at once that do not get in one another's way. */
  async #together(): Promise<void> {
    const choice = this.#choice;
    const own = (client: number) =>
      this.#items().map((item) => ({ ...item, id: `${client} ${item.id}`.slice(0, 200) }));
    const batches = this.#clients
      .map((_, i) => own(i))
      .map((items) => items.filter(({ id }) => Buffer.byteLength(id) <= 512));
    this.calls += 4;
    await Promise.all([
      ...this.#clients.map(({ index }, i) => index.upsert(batches[i])),
      ...this.#clients.map(({ index }) => (choice.chance(0.5) ? index.compact() : index.count())),
    ]);
    for (const items of batches) this.#plain.upsert(items);
    const before = this.#plain.items.size;
    const counts = await Promise.all([...this.#clients, ...this.#clients].map(({ index }) => index.count()));
    if (counts.some((count) => count !== before)) throw new Error(`counts ${counts.join()} of ${before}`);
  }

  async #refuse(call: (index: VectorIndex) => Promise<unknown>, codes: readonly string[]): Promise<void> {
    await expectRefusal(call(this.#index), codes, String(call));
  }

  async #invalid(): Promise<void> {
    const choice = this.#choice;
    const wrong = invalidCall(choice, this.#vector(), () => this.#items());
    await this.#refuse(wrong, ["invalid_request", "dimension_mismatch"]);
    const { client } = choice.of(this.#clients);
    this.calls++;
    await choice.of<() => Promise<void>>([
      () =>
        expectRefusal(client.loadIndex({ ...this.#address, indexKey: randomBytes(32) }), ["wrong_index_key"]),
      () => expectRefusal(client.loadIndex({ ...this.#address, indexName: "another" }), ["not_found"]),
      () => expectRefusal(client.createIndex(this.#address), ["already_exists"]),
      () => expectRefusal(client.deleteIndex({ ...this.#address, indexKey: "00" }), ["invalid_request"]),
    ])();
  }
}

function isRefusal(error: unknown, codes: readonly string[]): boolean {
  return error instanceof SealdexError && codes.includes(error.code);
}

/** Resolves if the call rejects with one of these codes; anything else is a fault. */
async function expectRefusal(
  call: Promise<unknown>,
  codes: readonly string[],
  what = "the call",
): Promise<void> {
  const outcome = await call.then(
    () => "an answer",
    (error: unknown) => (isRefusal(error, codes) ? undefined : error),
  );
  if (outcome === undefined) return;
  throw new Error(`${what}: expected ${codes.join(" or ")}, got ${String(outcome)}`, { cause: outcome });
}
