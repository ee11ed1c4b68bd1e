/** Keys stay where they are: nothing that prints, serializes, traces or fails shows them. */

import { inspect } from "node:util";
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { awaitAllCallbacks } from "@langchain/core/callbacks/promises";
import { BaseTracer } from "@langchain/core/tracers/base";
import { afterAll, expect, test } from "vitest";
import {
  EncryptedByteStore,
  EncryptedSemanticCache,
  EncryptedVectorStore,
  type EncryptedVectorStoreArgs,
  generateKey,
  LexicalEmbeddings,
} from "../../src/index.js";
import { EncryptedSaver } from "../../src/langchain/langgraph/encrypted-saver.js";
import { EncryptedStore } from "../../src/langchain/langgraph/encrypted-store.js";
import { startService } from "../http/service.js";

const service = await startService();
afterAll(() => service.close());

const embeddings = new LexicalEmbeddings();
const indexKey = generateKey();
const keyBytes = Buffer.from(indexKey, "hex");
const remote = { indexName: "secrets", indexKey, baseUrl: service.baseUrl, apiKey: service.apiKey };
const stores: Record<string, EncryptedVectorStoreArgs> = {
  "over HTTP": remote,
  embedded: { indexName: "secrets", indexKey, indexLocation: { location: "memory" } },
  "with a key of bytes": { indexName: "secrets", indexKey: keyBytes, indexLocation: { location: "memory" } },
};

/** Every way in which a key of 32 bytes could be written, and the API key. */
const secrets = [
  indexKey,
  keyBytes.toString("base64"),
  keyBytes.toString("base64url"),
  [...keyBytes].join(","),
  [...keyBytes].join(", "),
  inspect(new Uint8Array(keyBytes), { maxArrayLength: null, breakLength: Infinity }).replace(
    /^.*\[|\].*$/g,
    "",
  ),
  [...keyBytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" "),
  service.apiKey,
];

function expectNoSecret(text: string): void {
  // Line breaks and indentation of `inspect` must not hide a list of bytes.
  const flat = text.replace(/\s+/g, " ");
  for (const secret of secrets) expect(flat.includes(secret)).toBe(false);
}

function everythingOf(value: unknown): string {
  const options = { depth: 20, showHidden: true, maxArrayLength: null, maxStringLength: null } as const;
  return [
    inspect(value, options),
    inspect(value, { ...options, customInspect: false, getters: true }),
    JSON.stringify(value),
    String(value),
  ].join("\n");
}

test.each(Object.entries(stores))("a store prints no key: %s", async (_, args) => {
  const store = await EncryptedVectorStore.fromTexts(["a pike"], {}, embeddings, args);
  expect(store.lc_kwargs).toEqual({ indexName: "secrets" });
  for (const value of [store, store.asRetriever({ searchType: "mmr" }), new EncryptedSemanticCache(store)]) {
    expectNoSecret(everythingOf(value));
  }
  expect(store.toJSON()).toMatchObject({
    type: "not_implemented",
    id: ["langchain", "vectorstores", "sealdex", "EncryptedVectorStore"],
  });
  expect(inspect(store)).toBe('EncryptedVectorStore("secrets")');
  await store.close();
});

test("LangChain's serialization has the name of the index alone, even where a class asks for it", async () => {
  class Serialized extends EncryptedVectorStore {
    override lc_serializable = true;
  }
  const store = new Serialized(embeddings, stores.embedded);
  expect([store.lc_secrets, store.lc_aliases]).toEqual([undefined, undefined]);
  expect(JSON.parse(JSON.stringify(store))).toMatchObject({
    type: "constructor",
    kwargs: { index_name: "secrets" },
  });
  expectNoSecret(everythingOf(store));
  await store.close();
});

test("what keeps state and values prints no key", async () => {
  const args = { indexName: "secrets", indexKey, indexLocation: { location: "memory" } } as const;
  const byteStore = new EncryptedByteStore(args);
  const store = new EncryptedStore(args);
  const saver = new EncryptedSaver(args);
  for (const value of [byteStore, store, saver]) {
    expectNoSecret(everythingOf(value));
    expect(inspect(value)).toContain('("secrets")');
  }
  await Promise.all([byteStore.close(), store.stop(), saver.stop()]);
});

test("traces hold the query and the documents, and no key", async () => {
  const traced: unknown[] = [];
  class Tracer extends BaseTracer {
    override name = "recorder";
    protected async persistRun(run: unknown): Promise<void> {
      traced.push(run);
    }
  }
  class Recorder extends BaseCallbackHandler {
    override name = "events";
    override handleRetrieverStart(...event: unknown[]): void {
      traced.push(event);
    }
    override handleRetrieverEnd(...event: unknown[]): void {
      traced.push(event);
    }
  }
  const store = await EncryptedVectorStore.fromTexts(["a pike", "a perch"], {}, embeddings, {
    ...remote,
    indexName: "traced",
  });
  const retriever = store.asRetriever({ k: 1, filter: {} });
  await retriever
    .pipe((documents) => documents.length)
    .invoke("pike", { callbacks: [new Tracer(), new Recorder()] });
  await awaitAllCallbacks();
  expect(traced.length).toBeGreaterThanOrEqual(3);
  const text = everythingOf(traced);
  expect(text).toContain("a pike");
  expectNoSecret(text);
});

test("errors name no key, with their stacks and causes", async () => {
  const wrongKey = generateKey();
  const attempts: (() => Promise<unknown>)[] = [
    () => EncryptedVectorStore.fromExistingIndex(embeddings, { ...remote, indexName: "nobody" }),
    () => EncryptedVectorStore.fromExistingIndex(embeddings, { ...remote, apiKey: service.apiKey.slice(1) }),
    () => EncryptedVectorStore.fromExistingIndex(embeddings, { ...remote, baseUrl: "http://127.0.0.1:9" }),
    () => new EncryptedVectorStore(embeddings, { ...remote, indexKey: `${indexKey}0` }).addTexts(["x"]),
    () =>
      new EncryptedVectorStore(embeddings, { ...remote, indexName: "secrets2" }).addVectors(
        [[]],
        [{ pageContent: "", metadata: {} }],
      ),
    async () => {
      await EncryptedVectorStore.fromTexts(["x"], {}, embeddings, { ...remote, indexName: "three" });
      await EncryptedVectorStore.fromExistingIndex(embeddings, {
        ...remote,
        indexName: "three",
        indexKey: wrongKey,
      });
    },
  ];
  secrets.push(wrongKey, service.apiKey.slice(1));
  for (const attempt of attempts) {
    const error: unknown = await attempt().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(Error);
    const text = `${everythingOf(error)} ${(error as Error).stack} ${inspect((error as Error).cause, { depth: 20 })}`;
    expectNoSecret(text);
  }
});
