/** Random histories of one index under two clients: every answer is that of the plain index, or an error that it deserves. */

import { randomBytes } from "node:crypto";
import {
  type Client,
  createClient,
  type Filter,
  generateKey,
  type IndexConfigInput,
  type Item,
  type Match,
  type Metric,
  type QueryOptions,
  SealdexError,
  type StoredItem,
  type VectorIndex,
} from "../../src/core.js";
import { matchesEverything } from "../../src/filter.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { Choice } from "./choice.js";
import { randomFilter, randomMetadata } from "./documents.js";
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
  readonly #plain: PlainIndex;
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
    this.#plain.dimension = undefined;
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
    const { config, metric } = this.#plain;
    await client.createIndex({ ...this.#address, indexConfig: config, metric });
    await client.close();
    this.#clients = [await this.#load(), await this.#load()];
    for (let step = 0; step < steps; step++) await this.#step();
    await this.#checkAll();
    for (const each of this.#clients) await each.client.close();
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
      this.#checkMatches(Float32Array.from(vectors[i]), found, matching, asked);
    });
  }

  #checkMatches(
    query: Float32Array,
    found: readonly Match[],
    matching: readonly PlainItem[],
    asked: {
      readonly topK: number;
      readonly include: readonly string[];
      /** As many as there are, up to topK. */
      readonly isFull: boolean;
      readonly isNearest: boolean;
      readonly filter: Filter | undefined;
    },
  ): void {
    const { topK, include, isFull, isNearest, filter } = asked;
    const fault = (what: string) =>
      new Error(`${what}: ${JSON.stringify({ topK, include, filter }).slice(0, 1500)}`);
    const most = Math.min(topK, matching.length);
    if (found.length > most || (isFull && found.length < most)) {
      throw fault(`${found.length} matches of ${matching.length}`);
    }
    const allowed = new Map(matching.map((item) => [item.id, item]));
    if (new Set(found.map(({ id }) => id)).size !== found.length) throw fault("an item twice");
    const distances: number[] = [];
    for (const match of found) {
      const item = allowed.get(match.id);
      if (item === undefined) throw fault(`${match.id} does not match`);
      this.#checkItem(match, item, include);
      if (!include.includes("distance")) continue;
      const { distance = NaN } = match;
      const expected = this.#plain.distance(query, item.vector);
      if (!Number.isFinite(distance)) throw fault(`distance ${distance}`);
      if (this.#plain.isExact && !isNear(distance, expected))
        throw fault(`distance ${distance} for ${expected}`);
      if (distances.length > 0 && distance < distances[distances.length - 1])
        throw fault("matches out of order");
      distances.push(distance);
    }
    if (!isNearest) return;
    const nearest = matching.map((item) => this.#plain.distance(query, item.vector)).sort((a, b) => a - b);
    const own = found.map(({ id }) => this.#plain.distance(query, (allowed.get(id) as PlainItem).vector));
    own.forEach((distance, i) => {
      if (!isNear(distance, nearest[i]))
        throw fault(`match ${i} at ${distance}, expected one at ${nearest[i]}`);
    });
  }

  #checkItem(found: StoredItem, item: PlainItem, include: readonly string[]): void {
    const { id, vector, decoded, contents, metadata } = found;
    const fault = (field: string) => new Error(`${field} of ${id} is not what was stored`);
    if (id !== item.id) throw fault("id");
    if (contents !== (include.includes("contents") ? item.contents : undefined)) throw fault("contents");
    const expected = include.includes("metadata") ? JSON.stringify(item.metadata) : undefined;
    if ((metadata && JSON.stringify(metadata)) !== expected) throw fault("metadata");
    const isSame = (given: Float32Array) => given.every((value, i) => value === item.vector[i]);
    const isKept = include.includes("vector") && this.#plain.isExact;
    if ((vector !== undefined) !== isKept || (vector && !isSame(vector))) throw fault("vector");
    if ((decoded !== undefined) !== include.includes("decoded")) throw fault("decoded");
    if (decoded?.length !== (decoded && item.vector.length)) throw fault("decoded");
    if (decoded && this.#plain.isExact && !isSame(decoded)) throw fault("decoded");
  }

  async #get(): Promise<void> {
    const choice = this.#choice;
    const ids = choice.list(choice.below(12), () => this.#id());
    const include = choice.of([undefined, [], ["contents"], ["metadata", "decoded"]] as const);
    const found = await this.#index.get(ids, include && { include });
    const expected = ids.flatMap((id) => this.#plain.items.get(id) ?? []);
    if (found.length !== expected.length) throw new Error(`got ${found.length} items of ${expected.length}`);
    found.forEach((item, i) =>
      this.#checkItem(item, expected[i], include ?? ["vector", "contents", "metadata"]),
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
    const described = [config.type, this.#plain.metric, config.dimension ?? decided, this.#plain.trained];
    if (JSON.stringify([type, metric, dimension, trained]) !== JSON.stringify(described)) {
      throw new Error(`described as ${JSON.stringify([type, metric, dimension, trained])}`);
    }
  }

  async #checkAll(): Promise<void> {
    await this.#look();
    const items = await this.#index.get(this.#plain.ids());
    const include = ["vector", "contents", "metadata"];
    items.forEach((item) => this.#checkItem(item, this.#plain.items.get(item.id) as PlainItem, include));
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
    const odd = choice.of<unknown>([
      null,
      undefined,
      true,
      Number.NaN,
      -1,
      0.5,
      2 ** 60,
      "text",
      "",
      [],
      {},
      Symbol("odd"),
      1n,
      new Date(0),
      () => 1,
      new Proxy({}, {}),
    ]) as never;
    const vector = this.#vector();
    const item = { id: "x", vector };
    const wrong = choice.of<(index: VectorIndex) => Promise<unknown>>([
      (index) =>
        index.upsert([...this.#items(), { ...item, id: choice.of(["", "x".repeat(513), "\ud83d"]) }]),
      (index) => index.upsert([...this.#items(), { ...item, vector: [...vector, 1] }, { ...item, id: "y" }]),
      (index) => index.upsert([{ ...item, vector: [...vector.slice(1), choice.of([NaN, Infinity, 1e39])] }]),
      (index) => index.upsert([{ ...item, vector: [] }]),
      (index) => index.upsert([{ ...item, vector: choice.list(8193, () => 0) }]),
      (index) => index.upsert([{ ...item, metadata: { a: "x".repeat(65_529) } }]),
      (index) =>
        index.upsert([{ ...item, metadata: { a: choice.of<unknown>([NaN, 1n, [undefined], Symbol("s")]) } }]),
      (index) => index.upsert([{ ...item, contents: "x".repeat(2 ** 20 + 1) }]),
      (index) => index.upsert([{ ...item, odd: 1 } as never]),
      (index) => index.upsert([this.#item(), odd, this.#item()]),
      (index) => index.upsert(choice.of<never>([null as never, {} as never, "x" as never])),
      (index) => index.query({ queryVector: vector, topK: choice.of([-1, 10_001, 1.5, NaN, "1" as never]) }),
      (index) => index.query({ queryVector: vector, nProbes: choice.of([-1, 0.1, Infinity]) }),
      (index) => index.query({ queryVector: vector, k: 1 } as never),
      (index) => index.query({ queryVector: vector, include: ["text"] as never }),
      (index) =>
        index.query({
          queryVector: vector,
          filter: choice.of<never>([[] as never, "x" as never, { a: { $x: 1 } } as never]),
        }),
      (index) => index.query({ queryVector: vector, filter: { a: 1 }, filters: { a: 1 } } as never),
      (index) => index.query({ queryVector: [...vector.slice(1), NaN] }),
      (index) => index.query({ queryVectors: [vector, odd] }),
      (index) => index.query({ queryVectors: choice.list(1001, () => [1]) }),
      (index) => index.query({ queryVector: vector, queryVectors: [vector] } as never),
      (index) => index.query({ queryContents: "no model" }),
      (index) => index.query({} as never),
      (index) =>
        index.get(choice.of<never>([null as never, [""] as never, [1] as never, ["x".repeat(513)] as never])),
      (index) => index.get(["a"], { include: ["distance"] as never }),
      (index) =>
        index.delete(
          choice.of<never>([{} as never, { ids: ["a"], filter: { a: 1 } } as never, { filter: {} } as never]),
        ),
      (index) => index.delete({ ids: choice.of<never>([[1] as never, "a" as never, [, "a"] as never]) }), // oxlint-disable-line no-sparse-arrays
      (index) => index.listIds({ limit: choice.of([-1, 0.5, NaN]) }),
      (index) => index.listIds({ after: "" }),
      (index) => index.train({ nLists: choice.of([0, -1, 65_537, 1.5, NaN]) }),
      (index) => index.count({ signal: "now" as never }),
      (index) => index.count({ filter: {} } as never),
    ]);
    await this.#refuse(wrong, ["invalid_request", "dimension_mismatch"]);
    const { client } = choice.of(this.#clients);
    this.calls++;
    await choice.of<() => Promise<void>>([
      () =>
        expectRefusal(client.loadIndex({ ...this.#address, indexKey: randomBytes(32) }), ["wrong_index_key"]),
      () => expectRefusal(client.loadIndex({ ...this.#address, indexName: "another" }), ["not_found"]),
      () => expectRefusal(client.createIndex(this.#address), ["already_exists"]),
      () => expectRefusal(client.deleteIndex({ ...this.#address, indexKey: "00" }), ["invalid_request"]),
      () =>
        expectRefusal(client.createIndex({ ...this.#address, indexConfig: odd }), [
          "invalid_request",
          "already_exists",
        ]),
    ])();
  }
}

/** Rounding of float64 sums: relative, and where vectors differ by less than they are long, absolute. */
function isNear(value: number, expected: number): boolean {
  return Math.abs(value - expected) <= 1e-9 * Math.abs(expected) + 1e-12;
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
