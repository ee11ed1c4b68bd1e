import { afterAll, expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { EncryptedVectorStore } from "../../src/langchain/encrypted-vector-store.js";

const texts = [
  "Refunds are paid within fourteen days.",
  "Error E1047 means that the disk is full.",
  "The office is closed on public holidays.",
  "Our cats sleep all day.",
];
/** Counts embedded texts. */
const embeddings = {
  queries: 0,
  async embedDocuments(documents: string[]) {
    return documents.map((text) => [text.length % 7, text.length % 5, 1]);
  },
  async embedQuery(text: string) {
    embeddings.queries++;
    return [text.length % 7, text.length % 5, 1];
  },
};
const args = { indexName: "hybrid", indexKey: generateKey(), indexLocation: { location: "memory" } } as const;
const metadatas = texts.map((_, i) => ({ i, even: i % 2 === 0 }));
const store = await EncryptedVectorStore.fromTexts(texts, metadatas, embeddings, {
  ...args,
  textIndex: true,
});
afterAll(() => store.close());

const contentsOf = (documents: readonly { pageContent: string }[]) =>
  documents.map((each) => each.pageContent);

test("a keyword search finds words and embeds nothing", async () => {
  const before = embeddings.queries;
  expect(contentsOf(await store.keywordSearch("E1047"))).toEqual([texts[1]]);
  const [[document, score]] = await store.keywordSearchWithScore("holiday");
  expect(document).toMatchObject({ pageContent: texts[2], metadata: { i: 2, even: true } });
  expect(typeof document.id).toBe("string");
  expect(score).toBeGreaterThan(0);
  expect(await store.keywordSearch("E1047", 4, { even: true })).toEqual([]);
  expect(embeddings.queries).toBe(before);
});

test("a hybrid search returns matches by words first, and matches by vectors, too", async () => {
  const found = await store.hybridSearchWithScore("E1047", 4);
  expect(contentsOf(found.map(([document]) => document)).toSorted()).toEqual(texts.toSorted());
  const scores = found.map(([, score]) => score);
  expect(scores).toEqual(scores.toSorted((x, y) => y - x));
  const wordsAlone = await store.hybridSearch("E1047", 1, undefined, { method: "scores", alpha: 0 });
  expect(contentsOf(wordsAlone)).toEqual([texts[1]]);
});

test("retrievers search by words, by both, and as before", async () => {
  const keyword = store.asRetriever({ searchType: "keyword", k: 1 });
  expect(contentsOf(await keyword.invoke("disk errors"))).toEqual([texts[1]]);
  const hybrid = store.asRetriever({
    searchType: "hybrid",
    k: 2,
    searchKwargs: { fusion: { method: "rank" } },
  });
  expect(contentsOf(await hybrid.invoke("cat"))).toEqual(
    contentsOf(await store.hybridSearch("cat", 2, undefined, { method: "rank" })),
  );
  const filtered = store.asRetriever({ searchType: "hybrid", filter: { i: 3 } });
  expect(contentsOf(await filtered.invoke("E1047"))).toEqual([texts[3]]);
  const similar = store.asRetriever(2);
  expect(await similar.invoke("cat")).toEqual(await store.similaritySearch("cat", 2));
});

test("the store's own filter limits searches by words", async () => {
  await using client = createClient({ indexLocation: args.indexLocation });
  const own = { indexName: "limited", indexKey: args.indexKey, client, textIndex: true };
  await new EncryptedVectorStore(embeddings, own).addTexts(texts, metadatas);
  const limited = new EncryptedVectorStore(embeddings, { ...own, filter: { even: true } });
  expect(await limited.keywordSearch("E1047")).toEqual([]);
  expect(contentsOf(await limited.hybridSearch("E1047"))).not.toContain(texts[1]);
});

test("retrievers and stores refuse unknown options", async () => {
  const refused = { code: "invalid_request" };
  const wrong = [
    { searchType: "keyword", searchKwargs: { fusion: { method: "rank" } } },
    { searchType: "hybrid", searchKwargs: { lambda: 1 } },
    { searchType: "hybrid", filters: {} },
  ];
  for (const fields of wrong) {
    expect(() => store.asRetriever(fields as never)).toThrow(expect.objectContaining(refused));
  }
  const without = new EncryptedVectorStore(embeddings, { ...args, indexName: "without" });
  await without.addTexts(["a"]);
  await expect(without.keywordSearch("a")).rejects.toMatchObject(refused);
  await without.close();
});
