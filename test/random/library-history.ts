/** Random histories of one index under several clients: every answer is that of the plain index, or an error that it deserves. */

import { randomBytes } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import {
  copyIndex,
  createClient,
  type EmbeddedClient,
  generateKey,
  type IndexConfigInput,
  type Item,
  type Metric,
  SealdexError,
  type StoredItem,
  type VectorIndex,
} from "../../src/core.js";
import { itemsMin } from "../../src/index/training/automatic-training.js";
import { pauseMs } from "../../src/index/open/maintenance.js";
import { matchesEverything } from "../../src/api/filter/compile.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import {
  checkAtLimits,
  checkGet,
  checkItems,
  checkListing,
  checkOutline,
  checkQuery,
} from "./checked-reads.js";
import type { Choice } from "./choice.js";
import { randomFilter } from "./documents.js";
import { type Handle, HistoryPlace } from "./history-place.js";
import { invalidCall } from "./invalid-calls.js";
import { Killed, type OtherProcess } from "./other-process.js";
import { PlainIndex, type PlainItem } from "./plain-index.js";
import { RandomItems } from "./random-items.js";
import { StoreCalls } from "./store-calls.js";

const types: readonly IndexConfigInput[] = [
  { type: "ivfflat" },
  { type: "ivfflat" },
  { type: "ivf" },
  { type: "ivfpq", pqDim: 1, pqBits: 8 },
  { type: "ivfpq", pqDim: 2, pqBits: 4 },
];
const metrics: readonly Metric[] = ["euclidean", "cosine", "squared_euclidean"];
const dimensions = [2, 2, 2, 2, 4, 4, 6, 30, 64, 66, 128, 200];
/** Codes of so many numbers are added up in several passes. */
const longDimensions = [1026, 2050];
/** Of histories: on disk with another process, and with automatic training. */
const diskShare = 0.03;
const automaticShare = 0.01;

export class LibraryHistory {
  readonly #choice: Choice;
  readonly #place: HistoryPlace;
  readonly #random: RandomItems;
  #address = { indexName: "history", indexKey: generateKey() };
  #plain: PlainIndex;
  #handles: Handle[] = [];

  /** `other`: a process that some histories open their index in. */
  static async create(choice: Choice, other: OtherProcess): Promise<LibraryHistory> {
    const isAutomatic = choice.chance(automaticShare);
    const onDisk = !isAutomatic && choice.chance(diskShare);
    const place = await HistoryPlace.create(choice, onDisk ? other : undefined, isAutomatic);
    return new LibraryHistory(choice, place);
  }

  private constructor(choice: Choice, place: HistoryPlace) {
    this.#choice = choice;
    this.#place = place;
    const dimension = choice.of(choice.chance(0.02) ? longDimensions : dimensions);
    this.#random = new RandomItems(choice, place.isAutomatic ? 2 : dimension);
    const type = choice.of(types);
    const config = choice.chance(0.5) ? { ...type, dimension: this.#random.dimension } : type;
    this.#plain = new PlainIndex(config, choice.of(metrics));
  }

  /** Calls of indexes made so far. */
  get calls(): number {
    return this.#place.calls;
  }

  async run(steps: number): Promise<void> {
    const client = this.#place.client();
    await this.#create(client);
    await client.close();
    await this.#loadAll();
    if (this.#place.isAutomatic) await this.#beginAutomatic();
    else if (this.#choice.chance(0.6)) await this.#begin();
    for (let step = 0; step < steps; step++) await this.#step();
    await this.#checkAll();
    for (const handle of this.#handles) await handle.close();
    await this.#place.remove();
  }

  /** Many lists, which few random steps would make. */
  async #begin(): Promise<void> {
    const items = this.#choice.list(120, () => this.#random.item());
    await this.#index.upsert(items);
    this.#plain.upsert(items);
    await this.#index.train({ nLists: 12 });
    this.#plain.train();
  }

  /** So many items that the index is trained once writes pause. */
  async #beginAutomatic(): Promise<void> {
    const { client, index } = await this.#place.load(this.#address);
    for (let start = 0; start < itemsMin; start += itemsMin / 4) {
      const items = this.#choice.list(itemsMin / 4, (i) => ({
        id: `many ${start + i}`,
        vector: this.#random.vector(),
      }));
      await index.upsert(items);
      this.#plain.upsert(items);
    }
    this.#place.advance(pauseMs);
    while (!(await index.describe()).trained) await turn();
    this.#plain.train();
    await client?.close();
  }

  async #create(client: EmbeddedClient): Promise<void> {
    const { config, metric } = this.#plain;
    await client.createIndex({ ...this.#address, indexConfig: config, metric });
  }

  async #loadAll(): Promise<void> {
    const there = await this.#place.loadThere(this.#address);
    const here = [await this.#place.load(this.#address), await this.#place.load(this.#address)];
    this.#handles = there === undefined ? here : [...here, there];
  }

  #step(): Promise<void> {
    return this.#choice.weighted([
      [6, () => this.#upsert()],
      [6, () => checkQuery(this.#index, this.#plain, this.#random, this.#choice)],
      [3, () => checkGet(this.#index, this.#plain, this.#random, this.#choice)],
      [1, () => checkListing(this.#index, this.#plain, this.#choice, () => this.#upsert())],
      [1.5, () => this.#deleteIds()],
      [0.7, () => this.#deleteMatching()],
      [0.1, () => this.#deleteAll()],
      [1, () => this.#look()],
      [0.4, () => this.#train()],
      [0.4, () => this.#index.compact()],
      [0.4, () => this.#reopen()],
      [0.2, () => this.#restart()],
      [0.5, () => this.#wait()],
      [0.2, () => this.#rotateKey()],
      [0.1, () => this.#copy()],
      [1, () => this.#useStore()],
      [0.3, () => this.#killed()],
      [0.05, () => this.#atLimits()],
      [0.1, () => this.#replaceIndex()],
      [1, () => this.#aborted()],
      [1, () => this.#together()],
      [4, () => this.#invalid()],
    ]);
  }

  get #index(): VectorIndex {
    return this.#choice.of(this.#handles).index;
  }

  /** One of a client in this process. */
  get #here(): Handle & { readonly client: EmbeddedClient } {
    return this.#choice.of(
      this.#handles.flatMap(({ client, ...rest }) => (client ? [{ client, ...rest }] : [])),
    );
  }

  async #upsert(): Promise<void> {
    const items = this.#random.items();
    await this.#index.upsert(items);
    this.#plain.upsert(items);
  }

  async #deleteIds(): Promise<void> {
    const ids = this.#choice.list(this.#choice.below(6), () => this.#random.id());
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

  #look(): Promise<void> {
    return checkOutline(this.#index, this.#plain, this.#random, this.#choice);
  }

  async #checkAll(): Promise<void> {
    await this.#look();
    await checkItems(this.#index, this.#plain);
  }

  async #train(): Promise<void> {
    const { size } = this.#plain.items;
    const nLists = this.#choice.of([undefined, 1, 2, 5, Math.min(size, 100) || 1, size + 1]);
    await this.#index.train(nLists === undefined ? {} : { nLists });
    this.#plain.train();
  }

  async #reopen(): Promise<void> {
    const closed = this.#here;
    const at = this.#handles.findIndex(({ client }) => client === closed.client);
    this.#handles[at] = await this.#place.load(this.#address);
    const late = this.#choice.chance(0.5) ? closed.index.count() : undefined;
    await closed.client.close();
    // A call made before may end; one made after may not begin.
    await late;
    await expectRefusal(closed.index.count(), ["invalid_request"]);
    await closed.client.close();
  }

  /** Everybody closes, and opens the index anew. */
  async #restart(): Promise<void> {
    await Promise.all(this.#handles.map((handle) => handle.close()));
    await this.#loadAll();
    await this.#checkAll();
  }

  /** Time passes: clients train by themselves, and what is out of use is deleted. */
  async #wait(): Promise<void> {
    this.#place.advance(this.#choice.of([pauseMs, 30_000, 600_000, 3_600_000, 3 * 86_400_000]));
    await this.#upsert();
    await this.#look();
  }

  /** Handles opened with the old key are good for nothing any more. */
  async #rotateKey(): Promise<void> {
    const indexKey = generateKey();
    const old = this.#address;
    const rotating = this.#index;
    await rotating.rotateKey(indexKey);
    await checkOutline(rotating, this.#plain, this.#random, this.#choice);
    for (const { index } of this.#handles) {
      if (index === rotating) continue;
      await expectRefusal(index.count(), ["wrong_index_key"]);
      await expectRefusal(index.upsert([this.#random.item()]), ["wrong_index_key"]);
    }
    await expectRefusal(this.#here.client.loadIndex(old), ["wrong_index_key"]);
    this.#address = { ...old, indexKey };
    await this.#restart();
  }

  /** A copy has the same items, and goes its own way. */
  async #copy(): Promise<void> {
    const { client } = this.#here;
    const to = { indexLocation: createMemoryStore(), automaticTraining: false };
    const copying = { ...this.#address, from: client, to, newName: "copy" };
    await copyIndex(copying);
    // Once more: there is nothing left to do, or the copy is behind.
    await copyIndex(copying).catch((error: unknown) => {
      if (!isRefusal(error, ["already_exists"])) throw error;
    });
    const copyClient = createClient(to);
    const copy = await copyClient.loadIndex({ ...this.#address, indexName: "copy" });
    await checkOutline(copy, this.#plain, this.#random, this.#choice);
    await checkItems(copy, this.#plain);
    await checkQuery(copy, this.#plain, this.#random, this.#choice);
    await copy.upsert([{ id: "only in the copy", vector: this.#random.vector() }]);
    await copyClient.close();
    await this.#look();
  }

  async #useStore(): Promise<void> {
    const { client, index } = this.#here;
    const address = { client, ...this.#address };
    const store = new StoreCalls(address, index, this.#plain, this.#random, this.#choice);
    for (let call = this.#choice.below(4); call >= 0; call--) {
      await store.run();
    }
  }

  /** The other process is killed during a write, which is there then as a whole or not at all. */
  async #killed(): Promise<void> {
    const there = this.#handles.find(({ client }) => client === undefined);
    if (there === undefined) return this.#upsert();
    const items = this.#random.items();
    const before = new Map(this.#plain.items);
    const write = there.index.upsert(items);
    const waited = this.#choice.of([0, 0, 1, 5, 20, 100]);
    for (let turns = 0; turns < waited; turns++) await turn();
    await this.#place.kill();
    const isAcknowledged = await write.then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof Killed)) throw error;
        return false;
      },
    );
    this.#handles.splice(this.#handles.indexOf(there), 1);
    this.#plain.upsert(items);
    const after = new Map(this.#plain.items);
    if (!isAcknowledged && !(await this.#holds(after))) {
      this.#plain.items.clear();
      for (const [id, item] of before) this.#plain.items.set(id, item);
      this.#plain.dimension = (await this.#index.describe()).dimension;
    }
    await this.#checkAll();
    const again = await this.#place.loadThere(this.#address);
    if (again !== undefined) this.#handles.push(again);
  }

  /** Whether the index has these items, with all that it gives back of them. */
  async #holds(items: ReadonlyMap<string, PlainItem>): Promise<boolean> {
    const { isExact } = this.#plain;
    const outlineOf = ({ id, contents, metadata, vector }: StoredItem) => {
      // As bytes: 0 and -0 are not the same.
      const bytes = isExact && vector ? Buffer.from(Float32Array.from(vector).buffer).toString("hex") : "";
      return JSON.stringify([id, contents, metadata, bytes]);
    };
    const found = await this.#index.get([...items.keys()]);
    return found.map(outlineOf).join("\n") === [...items.values()].map(outlineOf).join("\n");
  }

  /** Valid calls of the largest size. */
  async #atLimits(): Promise<void> {
    if (this.#place.isAutomatic) return this.#look();
    const largest = {
      id: "x".repeat(512),
      vector: this.#random.vector(),
      metadata: { a: "x".repeat(65_536 - 8) },
      contents: "x".repeat(2 ** 20),
    };
    await this.#index.upsert([largest]);
    this.#plain.upsert([largest]);
    await checkAtLimits(this.#index, this.#plain, this.#random, this.#choice);
    await this.#index.delete({ ids: this.#choice.list(10_000, (i) => `nobody ${i}`) });
  }

  /** Deletes the index, after which nobody has it, and makes one of the same name. */
  async #replaceIndex(): Promise<void> {
    const { client } = this.#here;
    await client.deleteIndex(this.#address);
    for (const { index } of this.#handles) {
      await expectRefusal(index.count(), ["not_found"]);
      await expectRefusal(index.upsert([this.#random.item()]), ["not_found"]);
      await expectRefusal(index.compact(), ["not_found"]);
    }
    await expectRefusal(client.deleteIndex(this.#address), ["not_found"]);
    this.#plain = new PlainIndex(this.#plain.config, this.#plain.metric);
    await this.#create(client);
    const closing = this.#handles;
    // Another process has one index open at a time.
    await this.#loadAll();
    for (const handle of closing) if (handle.client !== undefined) await handle.close();
  }

  /** One call that is aborted somewhere on its way: it is as if it had not been made, or as if it had not been aborted. */
  async #aborted(): Promise<void> {
    const choice = this.#choice;
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error("enough");
    const items = this.#random.items();
    const ids = choice.list(4, () => this.#random.id());
    const { index } = this.#here;
    const [call, apply] = choice.of<readonly [() => Promise<unknown>, () => void]>([
      [() => index.upsert(items, { signal }), () => this.#plain.upsert(items)],
      [() => index.delete({ ids }, { signal }), () => ids.forEach((id) => this.#plain.items.delete(id))],
      [() => index.delete({ deleteAll: true }, { signal }), () => this.#plain.items.clear()],
      [() => index.query({ queryVector: this.#random.vector(), signal }), () => undefined],
      [() => index.listIds({ signal }), () => undefined],
      [() => index.compact({ signal }), () => undefined],
      [() => index.train({ nLists: 1, signal }), () => this.#plain.train()],
    ]);
    const turns = choice.of([0, 0, 1, 2, 3, 5, 10, 30]);
    if (choice.chance(0.2)) controller.abort(reason);
    const settled = call().then(apply, (error: unknown) => {
      if (error !== reason) throw error;
    });
    for (let passed = 0; passed < turns; passed++) await turn();
    controller.abort(reason);
    await settled;
    await this.#look();
  }

  /** Calls of all handles at once that do not get in one another's way. */
  async #together(): Promise<void> {
    const choice = this.#choice;
    const own = (handle: number) =>
      this.#random.items().map((item) => ({ ...item, id: `${handle} ${item.id}`.slice(0, 200) }));
    const batches: Item[][] = this.#handles
      .map((_, i) => own(i))
      .map((items) => items.filter(({ id }) => Buffer.byteLength(id) <= 512));
    await Promise.all([
      ...this.#handles.map(({ index }, i) => index.upsert(batches[i])),
      ...this.#handles.map(({ index }) => (choice.chance(0.5) ? index.compact() : index.count())),
    ]);
    for (const items of batches) this.#plain.upsert(items);
    const before = this.#plain.items.size;
    const counts = await Promise.all([...this.#handles, ...this.#handles].map(({ index }) => index.count()));
    if (counts.some((count) => count !== before)) throw new Error(`counts ${counts.join()} of ${before}`);
  }

  async #refuse(call: (index: VectorIndex) => Promise<unknown>, codes: readonly string[]): Promise<void> {
    await expectRefusal(call(this.#index), codes, String(call));
  }

  async #invalid(): Promise<void> {
    const choice = this.#choice;
    const wrong = invalidCall(choice, this.#random.vector(), () => this.#random.items());
    const { client, index } = this.#here;
    await expectRefusal(wrong(index), ["invalid_request", "dimension_mismatch"], String(wrong));
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
