import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { EncryptedVectorStore } from "../../src/langchain/encrypted-vector-store.js";
import { plainWords } from "../../src/langchain/hybrid-search.js";
import { createAnalyzer } from "../../src/text/analyzer.js";
import { parseTextQuery } from "../../src/text/text-query.js";

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

test("a question is words, whatever signs it has, unless the query syntax is asked for", async () => {
  const pages = [
    "Run tar -xzf archive.tgz to unpack it.",
    "Mercury freezes at -38.8 degrees.",
    "Call +49 30 1234 for support.",
    "What is a tuple?",
  ];
  const manual = await EncryptedVectorStore.fromTexts(pages, {}, embeddings, {
    ...args,
    indexName: "questions",
    textIndex: true,
  });
  const questions = [
    "How do I use tar -xzf?",
    "freezes at -38.8 degrees",
    "+49 30 1234",
    '"What, exactly, is a tuple?"',
    "-tuple*",
    "“tuple” +unknown",
  ];
  const answers = [0, 1, 2, 3, 3, 3].map((i) => pages[i]);
  const hybrid = manual.asRetriever({ searchType: "hybrid", k: 4 });
  for (const [i, question] of questions.entries()) {
    const [best] = contentsOf(await manual.keywordSearch(question, 1));
    expect(best, question).toBe(answers[i]);
    expect(contentsOf(await hybrid.invoke(question)), question).toHaveLength(pages.length);
    const [first] = await manual.hybridSearch(question, 1, undefined, { method: "scores", alpha: 0 });
    expect(first.pageContent, question).toBe(answers[i]);
  }
  const syntax = "query" as const;
  expect(contentsOf(await manual.keywordSearch("call -support", 4, undefined, { syntax }))).toEqual([]);
  expect(contentsOf(await manual.keywordSearch("deg*", 4, undefined, { syntax }))).toEqual([pages[1]]);
  const required = await manual.hybridSearch("+tuple", 4, undefined, undefined, { syntax });
  expect(contentsOf(required)).toEqual([pages[3]]);
  for (const searchType of ["keyword", "hybrid"] as const) {
    const retriever = manual.asRetriever({ searchType, searchKwargs: { syntax } });
    expect(contentsOf(await retriever.invoke("+tuple"))).toEqual([pages[3]]);
  }
  await manual.close();
});

const signed = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'ab Z09_.-/+-*"“”„# \t日ก\u0301'),
    fc.string({ unit: "binary", maxLength: 1 }),
  ),
  maxLength: 60,
});

test("the words of any text require and exclude nothing, and are all of its terms", () => {
  const analyzer = createAnalyzer({ version: 1, language: "english", stemming: true, stopWords: true });
  fc.assert(
    fc.property(signed, (text) => {
      const { terms, required, excluded } = parseTextQuery(plainWords(text), analyzer);
      expect([...required, ...excluded]).toEqual([]);
      const { words, terms: stems } = analyzer.analyze(text);
      const found = new Set([...words, ...stems]);
      expect(terms.filter(({ term }) => !found.has(term))).toEqual([]);
    }),
  );
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
    { searchType: "keyword", searchKwargs: { syntax: "lucene" } },
  ];
  for (const fields of wrong) {
    expect(() => store.asRetriever(fields as never)).toThrow(expect.objectContaining(refused));
  }
  await expect(store.keywordSearch("a", 4, {}, { syntax: "lucene" as never })).rejects.toMatchObject(refused);
  await expect(store.hybridSearch(42 as never)).rejects.toThrow("query: expected a string, got number");
  const without = new EncryptedVectorStore(embeddings, { ...args, indexName: "without" });
  await without.addTexts(["a"]);
  await expect(without.keywordSearch("a")).rejects.toMatchObject(refused);
  await without.close();
});
