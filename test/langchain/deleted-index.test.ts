/** Stores whose index another process deletes, and makes again, while they have it open. */

import { FakeEmbeddings } from "@langchain/core/utils/testing";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import {
  createClient,
  EncryptedByteStore,
  EncryptedSemanticCache,
  EncryptedVectorStore,
  generateKey,
  LexicalEmbeddings,
} from "../../src/index.js";
import { EncryptedSaver } from "../../src/langchain/langgraph/encrypted-saver.js";
import { EncryptedStore } from "../../src/langchain/langgraph/encrypted-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { codeOf } from "../outcome.js";

const indexLocation = createMemoryStore();
// Clients share nothing but the storage, as processes do.
const [client, other] = [createClient({ indexLocation }), createClient({ indexLocation })];
afterAll(() => Promise.all([client.close(), other.close()]));

const indexKey = generateKey();
let made = 0;
let indexName: string;
beforeEach(() => {
  indexName = `index ${made++}`;
});
const deleteElsewhere = () => other.deleteIndex({ indexName, indexKey });

class CountingEmbeddings extends LexicalEmbeddings {
  embedded = 0;

  override embedDocuments(texts: string[]) {
    this.embedded += texts.length;
    return super.embedDocuments(texts);
  }

  override embedQuery(text: string) {
    this.embedded++;
    return super.embedQuery(text);
  }
}

async function all<T>(generator: AsyncGenerator<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of generator) items.push(item);
  return items;
}

interface Kind<S> {
  readonly open: (place: object) => S;
  /** Stores what the calls find. */
  readonly put: (store: S) => Promise<unknown>;
  readonly calls: Readonly<Record<string, readonly [call: (store: S) => Promise<unknown>, found: unknown]>>;
}

const embeddings = new LexicalEmbeddings();
const vector = await embeddings.embedQuery("salmon");
const thread = { configurable: { thread_id: "1" } };
const checkpoint = { ...emptyCheckpoint(), channel_values: { n: 1 } };
const about = { source: "loop", step: 1, parents: {} } as const;
const salmon = { id: "1", pageContent: "salmon", metadata: {} };
const bytes = Uint8Array.of(1);

const vectorStore: Kind<EncryptedVectorStore> = {
  open: (place) => new EncryptedVectorStore(embeddings, { ...place, textIndex: true } as never),
  put: (store) => store.addTexts(["salmon"], {}, { ids: ["1"] }),
  calls: {
    addTexts: [(store) => store.addTexts(["trout"], {}, { ids: ["2"] }), ["2"]],
    addVectors: [(store) => store.addVectors([vector], [{ ...salmon, id: "2" }]), ["2"]],
    similaritySearch: [(store) => store.similaritySearch("salmon"), [salmon]],
    maxMarginalRelevanceSearch: [
      (store) => store.maxMarginalRelevanceSearch("salmon", { k: 1 }),
      [{ ...salmon }],
    ],
    hybridSearch: [(store) => store.hybridSearch("salmon"), [salmon]],
    keywordSearch: [(store) => store.keywordSearch("salmon"), [salmon]],
    getByIds: [(store) => store.getByIds(["1"]), [salmon]],
    count: [(store) => store.count(), 1],
    documents: [(store) => all(store.documents()), [salmon]],
    listDocuments: [(store) => store.listDocuments(), { documents: [salmon] }],
    delete: [(store) => store.delete({ ids: ["1"] }).then(() => store.count()), 0],
  },
};

const byteStore: Kind<EncryptedByteStore> = {
  open: (place) => new EncryptedByteStore(place as never),
  put: (store) => store.mset([["1", bytes]]),
  calls: {
    mget: [(store) => store.mget(["1"]), [bytes]],
    mset: [(store) => store.mset([["2", bytes]]).then(() => store.mget(["2"])), [bytes]],
    mdelete: [(store) => store.mdelete(["1"]).then(() => all(store.yieldKeys())), []],
    yieldKeys: [(store) => all(store.yieldKeys()), ["1"]],
    "yieldKeys with a prefix": [(store) => all(store.yieldKeys("1")), ["1"]],
  },
};

const langGraphStore: Kind<EncryptedStore> = {
  open: (place) => new EncryptedStore({ ...place, index: { dims: vector.length, embeddings } } as never),
  put: (store) => store.put(["a"], "1", { text: "salmon" }),
  calls: {
    get: [(store) => store.get(["a"], "1"), { value: { text: "salmon" } }],
    put: [(store) => store.put(["a"], "2", { n: 2 }).then(() => store.get(["a"], "2")), { value: { n: 2 } }],
    search: [(store) => store.search(["a"], { query: "salmon" }), [{ key: "1" }]],
    listNamespaces: [(store) => store.listNamespaces(), [["a"]]],
  },
};

const saver: Kind<EncryptedSaver> = {
  open: (place) => new EncryptedSaver(place as never),
  put: (store) => store.put(thread, checkpoint, about),
  calls: {
    getTuple: [(store) => store.getTuple(thread), { checkpoint: { channel_values: { n: 1 } } }],
    list: [(store) => all(store.list(thread)), [{ checkpoint: { channel_values: { n: 1 } } }]],
    deleteThread: [(store) => store.deleteThread("1").then(() => all(store.list(thread))), []],
  },
};

const cache: Kind<EncryptedSemanticCache> = {
  open: (place) => new EncryptedSemanticCache(new EncryptedVectorStore(embeddings, place as never)),
  put: (store) => store.update("salmon", "model", [{ text: "a fish" }]),
  calls: { lookup: [(store) => store.lookup("salmon", "model"), [{ text: "a fish" }]] },
};

function behaves<S>(name: string, { open, put, calls }: Kind<S>) {
  describe(name, () => {
    test.each(Object.entries(calls))("%s opens the index that was made again", async (_, [call, found]) => {
      const store = open({ indexName, indexKey, client });
      await put(store);
      await deleteElsewhere();
      await put(open({ indexName, indexKey, client: other }));
      expect(await call(store)).toMatchObject(found as object);
    });

    test.each(Object.entries(calls))(
      "%s of a deleted index throws and makes none",
      async (_, [call, found]) => {
        const store = open({ indexName, indexKey, client });
        await put(store);
        await deleteElsewhere();
        for (let i = 0; i < 2; i++) expect(await codeOf(call(store))).toBe("not_found");
        expect(await other.listIndexes()).not.toContain(indexName);
        await put(open({ indexName, indexKey, client: other }));
        expect(await call(store)).toMatchObject(found as object);
      },
    );
  });
}

behaves("a vector store", vectorStore);
behaves("a byte store", byteStore);
behaves("a LangGraph store", langGraphStore);
behaves("a saver", saver);
behaves("a semantic cache", cache);

test("documents are embedded once, and every one of many calls is answered", async () => {
  const counted = new CountingEmbeddings();
  const store = new EncryptedVectorStore(counted, { indexName, indexKey, client });
  await store.addTexts(["salmon"], {}, { ids: ["1"] });
  await deleteElsewhere();
  await vectorStore.put(new EncryptedVectorStore(embeddings, { indexName, indexKey, client: other }));
  counted.embedded = 0;
  const texts = ["trout", "pike", "eel", "carp"];
  await Promise.all(texts.map((text) => store.addTexts([text], {}, { ids: [text] })));
  expect(counted.embedded).toBe(texts.length);
  expect(await store.count()).toBe(1 + texts.length);
});

test("an index that was made again with another model is refused", async () => {
  const store = new EncryptedVectorStore(embeddings, { indexName, indexKey, client });
  await store.addTexts(["salmon"]);
  await deleteElsewhere();
  const theirs = new EncryptedVectorStore(new FakeEmbeddings(), { indexName, indexKey, client: other });
  await theirs.addTexts(["trout"]);
  expect(await codeOf(store.addTexts(["salmon"]))).toBe("dimension_mismatch");
  expect(await theirs.count()).toBe(1);
});

test("a saver seals nothing by a secret of the deleted index", async () => {
  const ours = saver.open({ indexName, indexKey, client });
  await saver.put(ours);
  await deleteElsewhere();
  const theirs = saver.open({ indexName, indexKey, client: other });
  await theirs.setup();
  await saver.put(ours);
  expect(await theirs.getTuple(thread)).toMatchObject({ checkpoint: { channel_values: { n: 1 } } });
});

test("with an anchor location, no deletion passes for a rollback", async () => {
  const anchorLocation = createMemoryStore();
  const [here, elsewhere] = [
    createClient({ indexLocation, anchorLocation }),
    createClient({ indexLocation, anchorLocation }),
  ];
  const store = vectorStore.open({ indexName, indexKey, client: here });
  await vectorStore.put(store);
  await elsewhere.deleteIndex({ indexName, indexKey });
  expect(await codeOf(store.count())).toBe("not_found");
  await vectorStore.put(vectorStore.open({ indexName, indexKey, client: elsewhere }));
  expect(await store.count()).toBe(1);
  await Promise.all([here.close(), elsewhere.close()]);
});
