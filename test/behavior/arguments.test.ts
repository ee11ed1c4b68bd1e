/** Arguments belong to the caller again as soon as the call has returned its promise: each test overwrites them then. */

import { afterAll, describe, expect, test } from "vitest";
import {
  type Client,
  copyIndex,
  createClient,
  EncryptedVectorStore,
  type Filter,
  generateKey,
  type Item,
  LexicalEmbeddings,
  type VectorIndex,
} from "../../src/index.js";
import { EncryptedStore } from "../../src/langchain/langgraph/encrypted-store.js";
import { startBoth } from "../http/both-clients.js";
import { drain } from "./listing.js";

const { clients } = await startBoth();
const memory = createClient({ indexLocation: { location: "memory" } });
afterAll(() => memory.close());
let made = 0;
const newKey = () => Buffer.from(generateKey(), "hex");
const address = () => ({ indexName: `arguments ${made++}`, indexKey: generateKey() });
const shared = ["zero", "one", "two"];

async function filled(client: Client): Promise<VectorIndex> {
  const index = await client.createIndex({ ...address(), textIndex: true });
  await index.upsert(
    shared.map((id, i) => ({ id, vector: [i, i], contents: `text ${id}`, metadata: { tenant: id } })),
  );
  return index;
}

/** A filter, and a change that makes it match another item. */
function filterOf(tenant: string): { filter: Filter; overwrite: () => void } {
  const filter = { $and: [{ tenant: { $in: [tenant] } }] };
  return { filter, overwrite: () => filter.$and[0].tenant.$in.splice(0, 1, "two") };
}

const idsOf = (items: readonly { readonly id?: string | undefined }[]) => items.map(({ id }) => id);

describe.each(Object.keys(clients))("%s", (where) => {
  const client = clients[where];

  test.each([
    ["numbers", () => [0, 0]],
    ["Float32Array", () => new Float32Array(2)],
  ])("queries ask with the vector of the call: %s", async (_, make) => {
    const index = await filled(client);
    const vector = make();
    const asked = [0, 1, 2].map((x) => {
      vector.fill(x);
      return index.query({ queryVector: vector, topK: 1 });
    });
    vector.fill(Number.NaN);
    expect((await Promise.all(asked)).map(([{ id }]) => id)).toEqual(shared);
    const vectors = [make(), make()];
    const batch = index.query({ queryVectors: vectors, topK: 1 });
    vectors[0].fill(2);
    vectors.pop();
    expect((await batch).map(([{ id }]) => id)).toEqual(["zero", "zero"]);
    vector.fill(1);
    const words = index.query({
      queryText: "text",
      queryVector: vector,
      topK: 1,
      fusion: { method: "scores", alpha: 1 },
    });
    vector.fill(0);
    expect(idsOf(await words)).toEqual(["one"]);
  });

  test("reads keep to the filter, the ids and the options of the call", async () => {
    const index = await filled(client);
    const calls: Record<string, (filter: Filter) => Promise<readonly { id: string }[]>> = {
      query: (filter) => index.query({ queryVector: [2, 2], filter, include: ["vector"] }),
      "ordered list": async (filter) => (await index.listItems({ orderBy: { tenant: "asc" }, filter })).items,
      "query by words": (filter) => index.query({ queryText: "text", filter }),
      listIds: async (filter) => (await index.listIds({ filter })).map((id) => ({ id })),
      listItems: async (filter) => (await index.listItems({ filter })).items,
      items: (filter) => drain(index.items({ filter, pageSize: 1 })),
    };
    for (const [name, call] of Object.entries(calls)) {
      const { filter, overwrite } = filterOf("one");
      const found = call(filter);
      overwrite();
      expect(idsOf(await found), name).toEqual(["one"]);
    }
    const { filter, overwrite } = filterOf("one");
    const later = index.items({ filter });
    overwrite();
    expect(idsOf(await drain(later))).toEqual(["one"]);
    const counted = filterOf("nobody");
    const count = index.count({ filter: counted.filter });
    counted.overwrite();
    expect(await count).toBe(0);
    const ids = ["zero", "one"];
    const include: ("metadata" | "vector")[] = ["metadata"];
    const got = index.get(ids, { include });
    ids.fill("two");
    include[0] = "vector";
    expect(await got).toMatchObject([{ id: "zero", metadata: { tenant: "zero" } }, { id: "one" }]);
    const options = { queryVector: [0, 0], topK: 2 };
    const few = index.query(options);
    options.topK = 3;
    expect(await few).toHaveLength(2);
  });

  test.each([{}, { skipUnchanged: true }, { within: {} }, { deleteFilter: { tenant: "old" } }])(
    "upserts store the items as they were when the call was made: %s",
    async (conditions) => {
      const index = await client.createIndex(address());
      const vector = new Float32Array(2);
      const metadata = { number: 0, deep: { list: [0] } };
      const expiresAt = new Date(8e15);
      const item = { id: "", vector, metadata, contents: "", expiresAt };
      const items: Item[] = [];
      const stored = [10, 11, 12].map((n) => {
        Object.assign(item, { id: `i${n}`, contents: `text ${n}` });
        vector.fill(n);
        metadata.number = n;
        metadata.deep.list[0] = n;
        items[0] = item;
        return index.upsert(items, conditions);
      });
      vector.fill(0);
      expiresAt.setTime(0);
      metadata.deep.list.pop();
      items.pop();
      await Promise.all(stored);
      expect(await index.get(["i10", "i11", "i12"])).toEqual(
        [10, 11, 12].map((n) => ({
          id: `i${n}`,
          vector: Float32Array.of(n, n),
          contents: `text ${n}`,
          metadata: { number: n, deep: { list: [n] } },
          expiresAt: new Date(8e15),
        })),
      );
    },
  );

  test("an upsert of more than one request is of the items of the call", async () => {
    const index = await client.createIndex(address());
    const items = Array.from({ length: 10_001 }, (_, i) => ({
      id: `${i}`,
      vector: [i, 1],
      metadata: { i },
    }));
    const storing = index.upsert(items);
    for (const item of items) Object.assign(item.vector.fill(7), item.metadata, { i: -1 });
    for (const item of items) item.metadata.i = -1;
    await storing;
    expect(await index.get(["10000"])).toMatchObject([
      { vector: Float32Array.of(10_000, 1), metadata: { i: 10_000 } },
    ]);
  });

  test("changes and deletions are of the items, and as they were, of the call", async () => {
    const index = await filled(client);
    const ids = ["zero"];
    const change = { metadata: { list: [1] } };
    const updating = index.update({ ids }, change);
    ids[0] = "two";
    change.metadata.list[0] = 2;
    expect(await updating).toEqual({ matched: 1, updated: 1 });
    expect(await index.get(["zero"], { include: ["metadata"] })).toMatchObject([{ metadata: { list: [1] } }]);
    const { filter, overwrite } = filterOf("one");
    const unset = ["tenant"];
    const removing = index.update({ filter }, { unset });
    overwrite();
    unset[0] = "other";
    expect(await removing).toEqual({ matched: 1, updated: 1 });
    const deleting = index.delete({ ids });
    ids[0] = "one";
    await deleting;
    expect(await index.listIds()).toEqual(["one", "zero"]);
    const other = filterOf("zero");
    const deletingMatches = index.delete({ filter: other.filter });
    other.overwrite();
    await deletingMatches;
    expect(await index.listIds()).toEqual(["one"]);
  });

  test("keys are read when the call is made", async () => {
    const overwritten = async <T>(key: Uint8Array, call: Promise<T>): Promise<T> => {
      key.fill(0);
      return call;
    };
    const { indexName } = address();
    const [key, wrapKey, nextKey] = [newKey(), newKey(), newKey()];
    const own = (indexKey: Uint8Array) => ({ indexName, indexKey: Uint8Array.from(indexKey) });
    const creating = own(key);
    const index = await overwritten(creating.indexKey, client.createIndex(creating));
    await index.upsert([{ id: "a", vector: [1] }]);
    const loading = own(key);
    const loaded = await overwritten(loading.indexKey, client.loadIndex(loading));
    expect(await loaded.listIds()).toEqual(["a"]);
    const wrapping = Uint8Array.from(wrapKey);
    await overwritten(wrapping, index.wraps.add({ name: "w", key: wrapping, access: "read-only" }));
    const rotating = Uint8Array.from(nextKey);
    await overwritten(rotating, index.rotateKey(rotating));
    expect(await (await client.loadIndex(own(wrapKey))).listIds()).toEqual(["a"]);
    const deleting = own(nextKey);
    await overwritten(deleting.indexKey, client.deleteIndex(deleting));
    await expect(client.loadIndex(own(nextKey))).rejects.toMatchObject({ code: "not_found" });
  });

  test("a store of LangChain adds and searches with the original arguments", async () => {
    const args = { ...address(), client };
    const embeddings = new LexicalEmbeddings({ dimension: 16 });
    const store = new EncryptedVectorStore(embeddings, args);
    const documents = [{ id: "a", pageContent: "one", metadata: { tenant: "one", list: [1] } }];
    const vectors = [Array.from({ length: 16 }, (_, i) => i)];
    const adding = store.addDocuments(documents);
    documents[0].metadata.list[0] = 2;
    documents[0].pageContent = "two";
    documents.push(documents[0]);
    expect(await adding).toEqual(["a"]);
    documents.pop();
    documents[0].id = "b";
    const addingVectors = store.addVectors(vectors, documents);
    vectors[0].fill(-1);
    documents[0].metadata.tenant = "two";
    expect(await addingVectors).toEqual(["b"]);
    expect(await store.getByIds(["a", "b"])).toMatchObject([
      { pageContent: "one", metadata: { tenant: "one", list: [1] } },
      { pageContent: "two", metadata: { tenant: "one", list: [2] } },
    ]);
    const near = Array.from({ length: 16 }, (_, i) => i);
    const searching = store.similaritySearchVectorWithScore(near, 1);
    near.fill(0);
    expect((await searching)[0][0].id).toBe("b");
    const searches: Record<string, (filter: Filter) => Promise<unknown[]>> = {
      similaritySearch: (filter) => store.similaritySearch("one", 4, filter),
      maxMarginalRelevanceSearch: (filter) => store.maxMarginalRelevanceSearch("one", { k: 4, filter }),
      documents: (filter) => drain(store.documents({ filter })),
      listDocuments: async (filter) => (await store.listDocuments({ filter })).documents,
      count: async (filter) => Array.from({ length: await store.count({ filter }) }),
    };
    for (const [name, search] of Object.entries(searches)) {
      const { filter, overwrite } = filterOf("one");
      const found = search(filter);
      overwrite();
      expect(await found, name).toHaveLength(2);
    }
    const { filter, overwrite } = filterOf("one");
    const retriever = store.asRetriever({ k: 4, filter });
    overwrite();
    expect(await retriever.invoke("one")).toHaveLength(2);
    const ids = ["a"];
    const deleting = store.delete({ ids });
    ids[0] = "b";
    await deleting;
    expect(await store.count()).toBe(1);
  });

  test("a store of LangGraph puts and searches with the original arguments", async () => {
    const store = new EncryptedStore({ ...address(), client } as never);
    const namespace = ["users", "1"];
    const value = { tenant: "one", list: [1] };
    const putting = store.put(namespace, "key", value);
    namespace[1] = "2";
    value.list[0] = 2;
    await putting;
    expect((await store.get(["users", "1"], "key"))?.value).toEqual({ tenant: "one", list: [1] });
    const prefix = ["users"];
    const filter = { tenant: "one" };
    const searching = store.search(prefix, { filter });
    prefix[0] = "others";
    filter.tenant = "two";
    expect(await searching).toHaveLength(1);
  });
});

test("a copy is of the index that the call named", async () => {
  const indexKey = newKey();
  const indexName = "copied";
  await memory.createIndex({ indexName, indexKey });
  const options = { indexName, indexKey, from: memory, to: memory, newName: "copy" };
  const copying = copyIndex(options);
  indexKey.fill(0);
  Object.assign(options, { indexName: "other", newName: "another" });
  await copying;
  expect(await memory.listIndexes()).toEqual([indexName, "copy"].sort());
});

test("images are embedded and stored as they were", async () => {
  const gif = new Uint8Array(Buffer.from("R0lGODlhAQABAIAAAICAgAAAACwAAAAAAQABAAACAkQBADs=", "base64"));
  const seen: Uint8Array[] = [];
  const embedding = {
    embedQuery: async () => [1],
    embedDocuments: async (texts: readonly string[]) => texts.map(() => [1]),
    embedImage: async (images: readonly unknown[]) => {
      seen.push(Uint8Array.from(images[0] as Uint8Array));
      return images.map(() => [1]);
    },
  };
  const index = await memory.createIndex({ ...address(), embedding });
  const bytes = Uint8Array.from(gif);
  const storing = index.upsert([{ id: "a", contents: bytes }]);
  bytes.fill(0);
  await storing;
  bytes.set(gif);
  const asking = index.query({ queryContents: bytes });
  bytes.fill(0);
  expect(idsOf(await asking)).toEqual(["a"]);
  for (const image of seen) expect(image).toEqual(gif);
});
