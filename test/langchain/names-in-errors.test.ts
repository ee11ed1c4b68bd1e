/** Errors name what the caller passed, by its position among all of it. */

import { afterAll, expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { EncryptedVectorStore } from "../../src/langchain/encrypted-vector-store.js";

const vectors: Readonly<Record<string, number[]>> = { "too short": [1, 2], "not a number": [NaN, 1, 1] };
const embeddings = {
  embedDocuments: async (texts: string[]) => texts.map((text) => vectors[text] ?? [1, 2, 3]),
  embedQuery: async (text: string) => vectors[text] ?? [1, 2, 3],
};
const store = new EncryptedVectorStore(embeddings, {
  indexName: "names",
  indexKey: generateKey(),
  indexLocation: { location: "memory" },
  textIndex: true,
});
await store.addTexts(["first"]);
afterAll(() => store.close());

interface Given {
  readonly pageContent?: unknown;
  readonly metadata?: object;
  readonly id?: string;
}

/** 600 documents, of which number 550, in the second batch, is this. */
const documents = (other: Given = {}) =>
  Array.from({ length: 600 }, (_, i) => ({ pageContent: "text", metadata: {}, ...(i === 550 && other) })) as {
    pageContent: string;
    metadata: Record<string, unknown>;
  }[];
const numbers = (other: unknown) =>
  Array.from({ length: 600 }, (_, i) => (i === 550 ? other : [1, 2, 3])) as number[][];

test.each<[string, () => Promise<unknown>]>([
  ["documents[550].metadata: ", () => store.addDocuments(documents({ metadata: { a: "x".repeat(70_000) } }))],
  ["documents[550].metadata.a: ", () => store.addDocuments(documents({ metadata: { a: 1n } }))],
  ["documents[550].pageContent: ", () => store.addDocuments(documents({ pageContent: "x".repeat(2 ** 21) }))],
  ["documents[550]: ", () => store.addDocuments(documents({ pageContent: 5 }))],
  ["documents[550].id: ", () => store.addDocuments(documents({ id: "x".repeat(600) }))],
  ["documents[550].vector: ", () => store.addDocuments(documents({ pageContent: "too short" }))],
  ["documents[550].vector[0]: ", () => store.addDocuments(documents({ pageContent: "not a number" }))],
  ["vectors[550]: ", () => store.addVectors(numbers([1, 2]), documents())],
  ["vectors[550][1]: ", () => store.addVectors(numbers([1, "2", 3]), documents())],
  ["expiresAt: ", () => store.addDocuments(documents(), { expiresAt: "soon" as never })],
  [
    "deleteFilter.a.$near: ",
    () => store.addDocuments(documents(), { deleteFilter: { a: { $near: 1 } } as never }),
  ],
  ["vectors: ", () => store.addVectors(undefined as never, documents())],
  ["documents: ", () => store.addVectors(numbers([1, 2, 3]), undefined as never)],
  ["texts: ", () => store.addTexts("text" as never)],
  ["images: ", () => store.addImages(undefined as never)],
  ["images[1]: ", () => store.addImages([new Uint8Array(4), "heron.png" as never])],
  ["k: ", () => store.similaritySearch("text", -1)],
  ["k: ", () => store.keywordSearch("text", 1.5)],
  ["k: ", () => store.hybridSearch("text", "3" as never)],
  ["query: ", () => store.keywordSearch("x".repeat(70_000))],
  ["query: ", () => store.hybridSearch(5 as never)],
  ["query: ", () => store.similaritySearchVectorWithScore([1, 2], 3)],
  ["query[2]: ", () => store.similaritySearchVectorWithScore([1, 2, NaN], 3)],
  ["filter.a.$near: ", () => store.similaritySearch("text", 3, { a: { $near: 1 } } as never)],
])("%s", async (name, call) => {
  const { message } = await call().then(
    () => new Error("resolved"),
    (error: Error) => error,
  );
  expect(message.slice(0, name.length)).toBe(name);
  expect(message).not.toMatch(/items\[|topK|queryText|queryVector/);
});

test("nothing of a batch that an error names is stored", async () => {
  const before = await store.count();
  await expect(store.addDocuments(documents({ metadata: { a: 1n } }))).rejects.toThrow("documents[550]");
  expect(await store.count()).toBe(before);
});
