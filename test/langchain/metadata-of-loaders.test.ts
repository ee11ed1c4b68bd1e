/** Metadata of document loaders, which may hold values that JSON does not have. */

import { Document } from "@langchain/core/documents";
import { expect, test } from "vitest";
import { createClient, EncryptedVectorStore, generateKey, LexicalEmbeddings } from "../../src/index.js";

const embeddings = new LexicalEmbeddings({ dimension: 16 });

async function newStore(filter?: object) {
  const client = createClient({ indexLocation: { location: "memory" } });
  const place = { indexName: "notes", indexKey: generateKey(), client };
  return new EncryptedVectorStore(embeddings, { ...place, ...(filter && { filter }) } as never);
}

/** Like the class that PDFLoader leaves under `pdf.metadata`. */
class PdfMetadata {
  readonly #parsed = new Map([["dc:title", "Report"]]);
  readonly pages = 3;
  get(name: string) {
    return this.#parsed.get(name);
  }
}

const at = new Date("2026-01-02T03:04:05Z");

test.each<[string, object, object]>([
  ["an instance of a class", { pdf: { metadata: new PdfMetadata() } }, { pdf: { metadata: { pages: 3 } } }],
  ["a date", { at }, { at: "2026-01-02T03:04:05.000Z" }],
  ["a map and a set", { map: new Map([["a", 1]]), set: new Set([1]) }, { map: {}, set: {} }],
  ["functions and undefined", { f: () => 1, u: undefined, list: [undefined] }, { list: [null] }],
  ["numbers that are not finite", { nan: Number.NaN, infinite: -Infinity }, { nan: null, infinite: null }],
  ["a Uint8Array", { bytes: Uint8Array.of(1, 2) }, { bytes: { 0: 1, 1: 2 } }],
  ["an own toJSON", { url: new URL("https://example.com/a") }, { url: "https://example.com/a" }],
])("%s is stored as JSON writes it", async (_, metadata, stored) => {
  const store = await newStore();
  await store.addDocuments([new Document({ pageContent: "a", metadata: metadata as never })]);
  const [found] = await store.similaritySearch("a", 1);
  expect(found.metadata).toEqual(stored);
  await store.addTexts(["b"], [metadata], { ids: ["b"] });
  expect((await store.getByIds(["b"]))[0].metadata).toEqual(stored);
});

const cycle: Record<string, unknown> = { page: 1 };
cycle.self = cycle;
const deep: unknown[] = [];
for (let [i, inner] = [0, deep]; i < 20_000; i++) inner.push((inner = []));

test.each<[object, string]>([
  [{ loc: { size: 1n } }, "documents[1].metadata.loc.size: expected JSON values, got a bigint"],
  [
    { list: [0, { "two words": 5n }] },
    'documents[1].metadata.list[1]["two words"]: expected JSON values, got a bigint',
  ],
  [{ parent: cycle }, "documents[1].metadata.parent.self: expected JSON values, got a cycle"],
  [{ deep }, "documents[1].metadata: expected JSON values, got deep nesting"],
  [
    { toJSON: () => "text" },
    "documents[1].metadata: expected an object, got one whose toJSON() returns none",
  ],
])("values that JSON cannot write are refused with their path (%#)", async (metadata, message) => {
  const store = await newStore();
  const documents = [
    { pageContent: "a", metadata: {} },
    { pageContent: "b", metadata },
  ];
  await expect(store.addDocuments(documents as never)).rejects.toThrow(message);
  expect(await store.count()).toBe(0);
});

test("the store's filter is asked of what is stored, not of what was given", async () => {
  const store = await newStore({ tenant: "ann" });
  let asked = 0;
  const tenant = { toJSON: () => (asked++ === 0 ? "bob" : "ann") };
  await expect(store.addTexts(["a"], [{ tenant }])).rejects.toMatchObject({ code: "forbidden" });
  await store.addTexts(["b"], [{ tenant: { toJSON: () => "ann" } }]);
  expect((await store.similaritySearch("b")).map(({ metadata }) => metadata)).toEqual([{ tenant: "ann" }]);
});
