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
  async createSchema() {}
  async getTime() {
    return ++this.#now;
  }
  async update(keys: string[], { groupIds }: UpdateOptions = {}) {
    keys.forEach((key, i) => this.#records.set(key, { at: ++this.#now, group: groupIds?.[i] ?? null }));
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
    for (const key of keys) this.#records.delete(key);
  }
}

const page = (source: string, pageContent: string, nested = {}) =>
  new Document({ pageContent, metadata: { source, nested } });

let store: EncryptedVectorStore;
/** Another namespace of the same index. */
let other: EncryptedVectorStore;
let run: (docsSource: Document[], cleanup?: "full" | "incremental") => ReturnType<typeof index>;

beforeEach(() => {
  const client = createClient({ indexLocation: { location: "memory" } });
  const args = { indexName: "pages", indexKey: generateKey(), client };
  store = new EncryptedVectorStore(new LexicalEmbeddings(), { ...args, namespace: "own" });
  other = new EncryptedVectorStore(new LexicalEmbeddings(), { ...args, namespace: "other" });
  const recordManager = new MemoryRecordManager();
  run = (docsSource, cleanup) =>
    index({
      docsSource,
      recordManager,
      vectorStore: store,
      options: { cleanup, sourceIdKey: "source", batchSize: 2 },
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
