/** LangChain's `index()`: keeps a store in step with a source of documents. */

import { Document } from "@langchain/core/documents";
import { index, RecordManager, type ListKeyOptions, type UpdateOptions } from "@langchain/core/indexing";
import { beforeEach, expect, test } from "vitest";
import { createClient, EncryptedVectorStore, generateKey, LexicalEmbeddings } from "../../src/index.js";

/** A record manager, by which `index()` remembers earlier runs; LangChain's core has none of its own. */
class MemoryRecordManager extends RecordManager {
  override lc_namespace = ["test"];
  readonly #records = new Map<string, { at: number; group: string | null }>();
  #now = 0;
  /** How many steps remain before one fails. */
  stepsLeft = Infinity;
  async createSchema() {}
  async getTime() {
    return ++this.#now;
  }
  async update(keys: string[], { groupIds }: UpdateOptions = {}) {
    this.#step();
    keys.forEach((key, i) => this.#records.set(key, { at: ++this.#now, group: groupIds?.[i] ?? null }));
    this.#step();
  }
  async exists(keys: string[]) {
    return keys.map((key) => this.#records.has(key));
  }
  async listKeys({ before = Infinity, after = -Infinity, groupIds, limit }: ListKeyOptions = {}) {
    const matching = [...this.#records].filter(
      ([, { at, group }]) => at < before && at > after && (groupIds?.includes(group) ?? true),
    );
    return matching.slice(0, limit).map(([key]) => key);
  }
  async deleteKeys(keys: string[]) {
    this.#step();
    for (const key of keys) this.#records.delete(key);
    this.#step();
  }
  #step() {
    if (this.stepsLeft-- === 0) throw new Error("interrupted");
  }
}

const page = (source: string, pageContent: string, nested = {}) =>
  new Document({ pageContent, metadata: { source, nested } });

let store: EncryptedVectorStore;
/** Another namespace of the same index. */
let other: EncryptedVectorStore;
let recordManager: MemoryRecordManager;
type Cleanup = "full" | "incremental";
let run: (docsSource: Document[], cleanup?: Cleanup, forceUpdate?: boolean) => ReturnType<typeof index>;

beforeEach(() => {
  const client = createClient({ indexLocation: { location: "memory" } });
  const args = { indexName: "pages", indexKey: generateKey(), client };
  store = new EncryptedVectorStore(new LexicalEmbeddings(), { ...args, namespace: "own" });
  other = new EncryptedVectorStore(new LexicalEmbeddings(), { ...args, namespace: "other" });
  recordManager = new MemoryRecordManager();
  run = (docsSource, cleanup, forceUpdate) =>
    index({
      docsSource,
      recordManager,
      vectorStore: store,
      options: { cleanup, sourceIdKey: "source", batchSize: 2, forceUpdate },
    });
});

const texts = async () =>
  (await store.similaritySearch("text", 99)).map(({ pageContent }) => pageContent).sort();

test("stores new documents and skips known ones", async () => {
  const source = [page("a", "text one"), page("a", "text two", { deep: [1, null] }), page("b", "text three")];
  expect(await run(source)).toMatchObject({ numAdded: 3, numSkipped: 0, numDeleted: 0 });
  expect(await run(source)).toMatchObject({ numAdded: 0, numSkipped: 3, numDeleted: 0 });
  expect(await texts()).toEqual(["text one", "text three", "text two"]);
  const [two] = await store.similaritySearch("text two", 1);
  expect(two.metadata).toEqual({ source: "a", nested: { deep: [1, null] } });
});

test("incremental cleanup deletes earlier versions of the sources that it sees", async () => {
  await run([page("a", "text one"), page("a", "text two"), page("b", "text three")], "incremental");
  const result = await run([page("a", "text one"), page("a", "text two, revised")], "incremental");
  expect(result).toMatchObject({ numAdded: 1, numSkipped: 1, numDeleted: 1 });
  expect(await texts()).toEqual(["text one", "text three", "text two, revised"]);
});

test("full cleanup deletes everything that is not in the source any more", async () => {
  await run([page("a", "text one"), page("a", "text two"), page("b", "text three")], "full");
  expect(await run([page("b", "text three")], "full")).toMatchObject({ numSkipped: 1, numDeleted: 2 });
  expect(await texts()).toEqual(["text three"]);
  expect(await run([], "full")).toMatchObject({ numDeleted: 1 });
  expect(await texts()).toEqual([]);
});

test("cleanup leaves documents of the same ids in another namespace", async () => {
  await run([page("a", "text one"), page("b", "text two")], "full");
  const stored = (await store.listDocuments()).documents;
  await other.addDocuments(stored);
  expect(await run([], "full")).toMatchObject({ numDeleted: 2 });
  expect(await store.count()).toBe(0);
  expect((await other.listDocuments()).documents).toEqual(stored);
});

test("deletions by others do not disturb it", async () => {
  await run([page("a", "text one"), page("b", "text two")], "full");
  await store.delete({ deleteAll: true });
  expect(await run([page("b", "text three")], "full")).toMatchObject({ numAdded: 1, numDeleted: 2 });
  expect(await texts()).toEqual(["text three"]);
});

test.each([undefined, "incremental", "full"] as const)(
  "interrupted at any step, it is completed by the next run, with cleanup %s",
  async (cleanup) => {
    const before = ["a 1", "a 2", "b 1", "b 2", "c 1"].map((text) => page(text[0], text));
    const after = ["a 1", "a 3", "b 2", "c 1", "c 2"].map((text) => page(text[0], text));
    const kept = cleanup === undefined ? [...before, ...after] : after;
    const wanted = [...new Set(kept.map(({ pageContent }) => pageContent))].sort();
    for (let steps = 0, isComplete = false; !isComplete; steps++) {
      await run(before, "full");
      recordManager.stepsLeft = steps;
      isComplete = await run(after, cleanup).then(
        () => true,
        () => false,
      );
      recordManager.stepsLeft = Infinity;
      await run(after, cleanup);
      expect(await texts()).toEqual(wanted);
    }
  },
);

test("stores again what the store has lost, if it is told to update everything", async () => {
  const source = [page("a", "text one"), page("b", "text two")];
  await run(source, "full");
  await store.delete({ deleteAll: true });
  expect(await run(source, "full")).toMatchObject({ numAdded: 0, numSkipped: 2 });
  expect(await run(source, "full", true)).toMatchObject({ numUpdated: 2 });
  expect(await texts()).toEqual(["text one", "text two"]);
});
