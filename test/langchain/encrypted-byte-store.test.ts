import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { CacheBackedEmbeddings } from "@langchain/classic/embeddings/cache_backed";
import { MultiVectorRetriever } from "@langchain/classic/retrievers/multi_vector";
import { ParentDocumentRetriever } from "@langchain/classic/retrievers/parent_document";
import { Document } from "@langchain/core/documents";
import { RecursiveCharacterTextSplitter } from "@langchain/textsplitters";
import { afterAll, describe, expect, test } from "vitest";
import {
  createClient,
  EncryptedByteStore,
  EncryptedVectorStore,
  generateKey,
  LexicalEmbeddings,
} from "../../src/index.js";
import { newFolder } from "../folder.js";
import { startService } from "../http/service.js";

const service = await startService();
const client = createClient({ indexLocation: { location: "memory" } });
afterAll(() => Promise.all([service.close(), client.close()]));
let made = 0;

const named = () => ({ indexName: `values ${made++}`, indexKey: generateKey() });
const bytes = (text: string) => new TextEncoder().encode(text);
const same = (a: Uint8Array | undefined, b: Uint8Array) => a !== undefined && Buffer.compare(a, b) === 0;

async function keysOf(store: EncryptedByteStore, prefix?: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of store.yieldKeys(prefix)) keys.push(key);
  return keys;
}

describe.each([
  ["embedded", { client }],
  ["over HTTP", { baseUrl: service.baseUrl, apiKey: service.apiKey }],
])("a store of bytes, %s", (_, place) => {
  test("sets, gets, replaces and deletes values of any length up to 16 MiB", async () => {
    const args = named();
    const store = new EncryptedByteStore({ ...args, ...place });
    const large = Uint8Array.from({ length: 3_000_000 }, (_byte, i) => (i * 31) % 251);
    await store.mset([
      ["large", large],
      ["empty", new Uint8Array(0)],
      ["twice", bytes("first")],
      ["twice", bytes("last")],
      ["edge", large.subarray(0, 764 * 1024)],
      ["beyond", large.subarray(0, 764 * 1024 + 1)],
    ]);
    const [unknown, found, ...others] = await store.mget(["unknown", "large", "empty", "twice", "large"]);
    expect(unknown).toBeUndefined();
    expect(same(found, large)).toBe(true);
    expect(others.slice(0, 2)).toEqual([new Uint8Array(0), bytes("last")]);
    expect(same(others[2], large)).toBe(true);
    const [edge, beyond] = await store.mget(["edge", "beyond"]);
    expect([edge?.length, beyond?.length]).toEqual([764 * 1024, 764 * 1024 + 1]);

    await store.mset([["large", bytes("small")]]);
    await store.mdelete(["beyond", "unknown", "edge"]);
    expect(await store.mget(["large", "beyond"])).toEqual([bytes("small"), undefined]);
    const index = await ("client" in place ? client : createClient(place)).loadIndex(args);
    expect(await index.count()).toBe(3);
    await expect(store.mset([["k", new Uint8Array(16 * 1024 * 1024 + 1)]])).rejects.toThrow(
      /value: expected at most 16777216 bytes, got 16777217/,
    );
  });

  test("of large values that are set at once under one key, the last one stays, and nothing of the others", async () => {
    const args = named();
    const store = new EncryptedByteStore({ ...args, ...place });
    const values = [1, 2, 3, 4].map((fill) => new Uint8Array(1_000_000).fill(fill));
    await store.mset([["k", values[0]]]);
    await Promise.all(values.map((value) => store.mset([["k", value]])));
    const [last] = await store.mget(["k"]);
    expect(values.some((value) => same(last, value))).toBe(true);
    const index = await ("client" in place ? client : createClient(place)).loadIndex(args);
    expect(await index.count()).toBe(3);
  });

  test("a value that is set again leaves nothing of a call that was interrupted", async () => {
    const args = named();
    const store = new EncryptedByteStore({ ...args, ...place });
    const large = new Uint8Array(1_000_000).fill(1);
    await store.mset([["k", large]]);
    const index = await ("client" in place ? client : createClient(place)).loadIndex(args);
    // As if the process had ended before it deleted the chunks of the value that it replaced.
    await index.upsert([{ id: "key/k", vector: [0], metadata: { length: 0 } }], { namespace: "values" });
    await store.mset([["k", large]]);
    expect(await index.count()).toBe(3);
  });

  test("lists keys by prefix", async () => {
    const store = new EncryptedByteStore({ ...named(), ...place });
    const keys = ["a", "a/1", "a/2", "ab", "b", "é", "chunk/a"];
    await store.mset(keys.map((key) => [key, bytes(key)]));
    await store.mset(Array.from({ length: 1200 }, (_value, i) => [`many/${i}`, bytes(`${i}`)]));
    expect(await keysOf(store, "a")).toEqual(["a", "a/1", "a/2", "ab"]);
    expect(await keysOf(store, "a/")).toEqual(["a/1", "a/2"]);
    expect(await keysOf(store, "many/")).toHaveLength(1200);
    expect((await keysOf(store)).sort()).toHaveLength(1207);
    expect(await keysOf(store, "none")).toEqual([]);
  });

  test("no key begins with a prefix that is longer than a key", async () => {
    const store = new EncryptedByteStore({ ...named(), ...place });
    await store.mset([["k".repeat(480), bytes("x")]]);
    for (const length of [480, 481, 600]) {
      expect(await keysOf(store, "k".repeat(length))).toHaveLength(length === 480 ? 1 : 0);
    }
  });

  test("two namespaces of an index have their own values", async () => {
    const args = { ...named(), ...place };
    const [ann, bob] = ["ann", "bob"].map((namespace) => new EncryptedByteStore({ ...args, namespace }));
    await ann.mset([["k", bytes("of Ann")]]);
    expect(await bob.mget(["k"])).toEqual([undefined]);
    expect(await keysOf(bob)).toEqual([]);
  });
});

test("refuses keys and values that are none, and options of vector stores", async () => {
  const args = { ...named(), client };
  const store = new EncryptedByteStore(args);
  for (const key of ["", "k".repeat(481), "\ud800", 1 as never]) {
    await expect(store.mget([key])).rejects.toMatchObject({ code: "invalid_request" });
  }
  await expect(store.mset([["k", "text" as never]])).rejects.toThrow(
    /value: expected a Uint8Array, got string/,
  );
  expect(() => new EncryptedByteStore({ ...args, textIndex: true } as never)).toThrow(
    /textIndex is only for/,
  );
});

test("parents, documents and cached vectors lie beside the index, and nothing of them in clear", async () => {
  const folder = await newFolder();
  const indexKey = generateKey();
  const place = { indexKey, indexLocation: { location: "local", path: folder } } as const;
  const embeddings = new LexicalEmbeddings({ dimension: 64 });
  const parents = new EncryptedByteStore({ indexName: "parents", ...place });
  const vectors = new EncryptedByteStore({ indexName: "vectors", ...place });
  const vectorstore = new EncryptedVectorStore(embeddings, { indexName: "children", ...place });
  const retriever = new ParentDocumentRetriever({
    vectorstore,
    byteStore: parents,
    childSplitter: new RecursiveCharacterTextSplitter({ chunkSize: 40, chunkOverlap: 0 }),
    parentSplitter: new RecursiveCharacterTextSplitter({ chunkSize: 200, chunkOverlap: 0 }),
    parentK: 1,
  });
  const pageContent =
    "Canaries sing in the morning. Salmon swim upstream in autumn. Owls hunt mice at night.";
  await retriever.addDocuments([new Document({ pageContent, metadata: { page: 7 } })]);
  const [parent] = await retriever.invoke("salmon swim");
  expect(parent.pageContent).toBe(pageContent);

  const multi = new MultiVectorRetriever({ vectorstore, byteStore: parents, idKey: "doc", parentK: 1 });
  await multi.docstore.mset([["report", new Document({ pageContent: "The canary report." })]]);
  await vectorstore.addDocuments([new Document({ pageContent: "A summary.", metadata: { doc: "report" } })]);
  // Of a document without a parent, and of its own.
  await vectorstore.addDocuments([new Document({ pageContent: "A summary", metadata: {} })]);
  expect((await multi.invoke("A summary."))[0].pageContent).toBe("The canary report.");

  const cached = CacheBackedEmbeddings.fromBytesStore(embeddings, vectors, { namespace: "lexical" });
  const first = await cached.embedDocuments(["canary text"]);
  expect(await cached.embedDocuments(["canary text"])).toEqual(first);
  expect(await keysOf(vectors, "lexical")).toHaveLength(1);
  expect(inspect(parents, { depth: 9, showHidden: true })).not.toContain(indexKey);
  expect(JSON.stringify(parents)).not.toContain(indexKey);

  await Promise.all([parents.close(), vectors.close(), vectorstore.close()]);
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const written = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), "latin1")),
  );
  expect(written.length).toBeGreaterThan(6);
  expect(written.filter((text) => /canary|Canaries|report|lexical/i.test(text))).toEqual([]);
});
