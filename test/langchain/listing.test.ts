/** Counting, listing and replacing the documents of a store, within the store's own filter. */

import { afterAll, expect, test } from "vitest";
import { createClient, EncryptedVectorStore, generateKey, LexicalEmbeddings } from "../../src/index.js";
import { drain } from "../behavior/listing.js";

const client = createClient({ indexLocation: { location: "memory" } });
afterAll(() => client.close());
const address = { indexName: "documents", indexKey: generateKey(), client };
const store = new EncryptedVectorStore(new LexicalEmbeddings(), address);
const ours = new EncryptedVectorStore(new LexicalEmbeddings(), { ...address, filter: { tenant: "ours" } });
const document = (source: string, tenant: string, pageContent: string) => ({
  pageContent,
  metadata: { source, tenant },
});

test("a store counts and lists items that match its own filter", async () => {
  await store.addDocuments(
    [document("a", "ours", "one"), document("b", "ours", "two"), document("a", "theirs", "three")],
    { ids: ["1", "2", "3"] },
  );
  expect([await store.count(), await ours.count(), await ours.count({ filter: { source: "a" } })]).toEqual([
    3, 2, 1,
  ]);
  expect(
    (await drain(ours.documents({ pageSize: 1 }))).map(({ id, pageContent }) => [id, pageContent]),
  ).toEqual([
    ["1", "one"],
    ["2", "two"],
  ]);
  const first = await ours.listDocuments({ limit: 1 });
  expect(first.documents.map(({ id }) => id)).toEqual(["1"]);
  const last = await ours.listDocuments({ limit: 1, cursor: first.cursor });
  expect(last).toEqual({
    documents: [expect.objectContaining({ id: "2", metadata: { source: "b", tenant: "ours" } })],
  });
  expect(await drain(ours.documents({ filter: { tenant: "theirs" } }))).toEqual([]);
  await expect(drain(ours.documents({ k: 1 } as never))).rejects.toMatchObject({ code: "invalid_request" });
  await expect(ours.count({ source: "a" } as never)).rejects.toThrow('unknown property "source"');
  await expect(ours.listDocuments({ where: {} } as never)).rejects.toMatchObject({ code: "invalid_request" });
});

test("a changed source replaces its chunks, of any number of batches, in one commit", async () => {
  const chunks = Array.from({ length: 1200 }, (_, i) => document("a", "ours", `chunk ${i}`));
  const ids = chunks.map((_, i) => `a#${i}`);
  const progress: number[] = [];
  const onProgress = ({ stored }: { stored: number }) => progress.push(stored);
  await store.addDocuments(chunks, { ids, deleteFilter: { source: "a", tenant: "ours" }, onProgress });
  expect(progress).toEqual([1200]);
  expect([await ours.count({ filter: { source: "a" } }), await store.count()]).toEqual([1200, 1202]);
  await store.addDocuments(chunks.slice(0, 2), {
    ids: ids.slice(0, 2),
    deleteFilter: { source: "a", tenant: "ours" },
  });
  expect(await store.count()).toBe(4);
  await store.addDocuments(chunks.slice(0, 3), { ids: ids.slice(0, 3), skipUnchanged: true });
  expect(await store.count()).toBe(5);
});
