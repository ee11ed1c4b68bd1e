/** The parts of LangChain that take a vector store, each the real one, over an encrypted store. */

import { CacheBackedEmbeddings } from "@langchain/classic/embeddings/cache_backed";
import { VectorStoreRetrieverMemory } from "@langchain/classic/memory";
import { ContextualCompressionRetriever } from "@langchain/classic/retrievers/contextual_compression";
import { EmbeddingsFilter } from "@langchain/classic/retrievers/document_compressors/embeddings_filter";
import { EnsembleRetriever } from "@langchain/classic/retrievers/ensemble";
import { MatryoshkaRetriever } from "@langchain/classic/retrievers/matryoshka_retriever";
import { MultiQueryRetriever } from "@langchain/classic/retrievers/multi_query";
import { MultiVectorRetriever } from "@langchain/classic/retrievers/multi_vector";
import { ParentDocumentRetriever } from "@langchain/classic/retrievers/parent_document";
import { ScoreThresholdRetriever } from "@langchain/classic/retrievers/score_threshold";
import { TimeWeightedVectorStoreRetriever } from "@langchain/classic/retrievers/time_weighted";
import { InMemoryStore } from "@langchain/classic/storage/in_memory";
import { createRetrieverTool } from "@langchain/classic/tools/retriever";
import { Document } from "@langchain/core/documents";
import { SemanticSimilarityExampleSelector } from "@langchain/core/example_selectors";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate, FewShotPromptTemplate, PromptTemplate } from "@langchain/core/prompts";
import { RunnableLambda, RunnablePassthrough, RunnableSequence } from "@langchain/core/runnables";
import { FakeLLM, FakeListChatModel } from "@langchain/core/utils/testing";
import { RecursiveCharacterTextSplitter } from "@langchain/textsplitters";
import { expect, test } from "vitest";
import { createClient, EncryptedVectorStore, generateKey, LexicalEmbeddings } from "../../src/index.js";

const embeddings = new LexicalEmbeddings({ dimension: 256 });
const client = createClient({ indexLocation: { location: "memory" } });
let made = 0;

function args() {
  return { indexName: `consumer ${made++}`, indexKey: generateKey(), client };
}
function newStore(): EncryptedVectorStore {
  return new EncryptedVectorStore(embeddings, args());
}

const animals = ["salmon swim up rivers", "herons hunt in rivers", "owls hunt at night"].map(
  (pageContent, n) => new Document({ pageContent, metadata: { n } }),
);
const tools = ["hammers drive nails", "saws cut planks"].map(
  (pageContent, n) => new Document({ pageContent, metadata: { n: n + 3 } }),
);
const all = [...animals, ...tools];

async function filled(): Promise<EncryptedVectorStore> {
  const store = newStore();
  await store.addDocuments(all);
  return store;
}

const numbers = (documents: readonly { metadata: Record<string, unknown> }[]) =>
  documents.map(({ metadata }) => metadata.n);

test("ParentDocumentRetriever: children with nested metadata in the store, their parents as results", async () => {
  const store = newStore();
  const retriever = new ParentDocumentRetriever({
    vectorstore: store,
    byteStore: new InMemoryStore<Uint8Array>(),
    childSplitter: new RecursiveCharacterTextSplitter({ chunkSize: 40, chunkOverlap: 0 }),
    parentSplitter: new RecursiveCharacterTextSplitter({ chunkSize: 120, chunkOverlap: 0 }),
  });
  const long = "Salmon are born in rivers. They live in the sea. Years later they return. ".repeat(2);
  await retriever.addDocuments([
    new Document({ pageContent: long, metadata: { about: "fish" } }),
    new Document({
      pageContent: "Saws cut planks. Hammers drive nails. ".repeat(4),
      metadata: { about: "tools" },
    }),
  ]);
  const found = await retriever.invoke("born in rivers");
  expect(found[0].metadata.about).toBe("fish");
  expect(found[0].pageContent.length).toBeGreaterThan(40);
  const [child] = await store.similaritySearch("born in rivers", 1);
  expect(child.metadata).toMatchObject({
    about: "fish",
    doc_id: expect.any(String),
    loc: { lines: { from: expect.any(Number), to: expect.any(Number) } },
  });
});

test("MultiVectorRetriever: summaries in the store, documents as results", async () => {
  const vectorstore = newStore();
  const byteStore = new InMemoryStore<Uint8Array>();
  const retriever = new MultiVectorRetriever({ vectorstore, byteStore, idKey: "doc_id", parentK: 1 });
  await vectorstore.addDocuments([
    new Document({ pageContent: "about fish", metadata: { doc_id: "a" } }),
    new Document({ pageContent: "about tools", metadata: { doc_id: "b" } }),
  ]);
  await retriever.docstore.mset([
    ["a", new Document({ pageContent: "the whole text on fish" })],
    ["b", new Document({ pageContent: "the whole text on tools" })],
  ]);
  expect((await retriever.invoke("tools"))[0].pageContent).toBe("the whole text on tools");
});

test("ScoreThresholdRetriever: as many as score well, and no more", async () => {
  const store = await filled();
  const scores = (await store.similaritySearchWithScore("hunt in rivers", 9)).map(([, score]) => score);
  for (const wanted of [1, 2, 5]) {
    const retriever = ScoreThresholdRetriever.fromVectorStore(store, {
      minSimilarityScore: scores[wanted - 1],
      maxK: 100,
      kIncrement: 2,
    });
    expect(await retriever.invoke("hunt in rivers")).toHaveLength(wanted);
  }
  const strict = ScoreThresholdRetriever.fromVectorStore(store, { minSimilarityScore: 1, maxK: 10 });
  expect(await strict.invoke("hunt in rivers")).toEqual([]);
  expect(numbers(await strict.invoke("saws cut planks"))).toEqual([4]);
});

test("TimeWeightedVectorStoreRetriever: near and recently used first", async () => {
  const retriever = new TimeWeightedVectorStoreRetriever({
    vectorStore: newStore(),
    memoryStream: [],
    searchKwargs: 10,
    k: 2,
    decayRate: 0.5,
  });
  await retriever.addDocuments(animals);
  await retriever.addDocuments(tools);
  const found = await retriever.invoke("saws that cut planks");
  expect(found[0]).toMatchObject({ pageContent: "saws cut planks", metadata: { buffer_idx: 4 } });
});

test("EnsembleRetriever: ranks of a similarity and an MMR retriever fused", async () => {
  const store = await filled();
  const retriever = new EnsembleRetriever({
    retrievers: [store.asRetriever({ k: 2 }), store.asRetriever({ searchType: "mmr", k: 2 })],
    weights: [0.5, 0.5],
  });
  const found = await retriever.invoke("herons hunt in rivers");
  expect(found[0].metadata.n).toBe(1);
  expect(new Set(numbers(found)).size).toBe(found.length);
  for (const { id } of found) expect(id).toEqual(expect.any(String));
});

test("ContextualCompressionRetriever: drops documents that are not near enough", async () => {
  const store = await filled();
  const retriever = new ContextualCompressionRetriever({
    baseRetriever: store.asRetriever(5),
    baseCompressor: new EmbeddingsFilter({ embeddings, similarityThreshold: 0.9, k: undefined }),
  });
  expect(numbers(await retriever.invoke("owls hunt at night"))).toEqual([2]);
});

test("MultiQueryRetriever: the union of several questions", async () => {
  const store = await filled();
  const retriever = MultiQueryRetriever.fromLLM({
    llm: new FakeLLM({ response: "<questions>\nsaws cut planks\nowls hunt at night\n</questions>" }),
    retriever: store.asRetriever(1),
  });
  expect(numbers(await retriever.invoke("anything")).sort()).toEqual([2, 4]);
});

test("SemanticSimilarityExampleSelector: makes a store of its own, and gives examples back as they were", async () => {
  const examples = [
    { input: "happy", output: "sad" },
    { input: "tall", output: "short" },
    { input: "sunny day", output: "rainy day" },
  ];
  const selector = await SemanticSimilarityExampleSelector.fromExamples(
    examples,
    embeddings,
    EncryptedVectorStore,
    {
      ...args(),
      k: 1,
      inputKeys: ["input"],
    },
  );
  expect(await selector.selectExamples({ input: "a sunny day" })).toEqual([examples[2]]);
  await selector.addExample({ input: "windy weather", output: "calm weather" });
  const prompt = new FewShotPromptTemplate({
    exampleSelector: selector,
    examplePrompt: PromptTemplate.fromTemplate("{input} > {output}"),
    suffix: "{input} >",
    inputVariables: ["input"],
  });
  expect(await prompt.format({ input: "windy" })).toContain("windy weather > calm weather");
});

test("VectorStoreRetrieverMemory: remembers fitting memories", async () => {
  const memory = new VectorStoreRetrieverMemory({
    vectorStoreRetriever: newStore().asRetriever(1),
    memoryKey: "history",
  });
  await memory.saveContext({ input: "My favourite food is pizza" }, { output: "good to know" });
  await memory.saveContext({ input: "My favourite sport is football" }, { output: "I see" });
  const { history } = await memory.loadMemoryVariables({ prompt: "which sport do I like?" });
  expect(history).toContain("football");
  expect(history).not.toContain("pizza");
});

test("MatryoshkaRetriever: finds by small vectors, reranks by large ones kept in metadata", async () => {
  const retriever = new MatryoshkaRetriever({
    vectorStore: new EncryptedVectorStore(new LexicalEmbeddings({ dimension: 32 }), args()),
    largeEmbeddingModel: new LexicalEmbeddings({ dimension: 2048 }),
    smallK: 5,
    largeK: 2,
  });
  await retriever.addDocuments(all);
  const found = await retriever.invoke("owls hunt at night");
  expect(numbers(found)[0]).toBe(2);
  expect(found).toHaveLength(2);
});

test("CacheBackedEmbeddings: a text is embedded once", async () => {
  let embedded = 0;
  const counting = {
    embedQuery: (text: string) => embeddings.embedQuery(text),
    embedDocuments: (texts: string[]) => {
      embedded += texts.length;
      return embeddings.embedDocuments(texts);
    },
  };
  const cached = CacheBackedEmbeddings.fromBytesStore(counting as never, new InMemoryStore<Uint8Array>(), {
    namespace: "lexical",
  });
  const store = new EncryptedVectorStore(cached, args());
  await store.addDocuments(all);
  await store.addDocuments(all);
  expect(embedded).toBe(all.length);
  expect(numbers(await store.similaritySearch("saws cut planks", 1))).toEqual([4]);
});

test("a retriever as a tool answers a tool call", async () => {
  const tool = createRetrieverTool((await filled()).asRetriever(1), {
    name: "search",
    description: "Finds facts.",
  });
  expect(await tool.invoke({ query: "saws cut planks" })).toBe("saws cut planks");
  const call = { name: "search", args: { query: "owls at night" }, id: "1", type: "tool_call" } as const;
  expect(await tool.invoke(call)).toMatchObject({ content: "owls hunt at night", tool_call_id: "1" });
});

test("chains: pipe, streaming and batching", async () => {
  const store = await filled();
  const model = new FakeListChatModel({ responses: ["Herons do.", "Saws do.", "Owls do."] });
  const prompts: string[] = [];
  const chain = RunnableSequence.from([
    {
      context: store
        .asRetriever(1)
        .pipe((documents) => documents.map(({ pageContent }) => pageContent).join("\n")),
      question: new RunnablePassthrough(),
    },
    ChatPromptTemplate.fromTemplate("Context: {context}\nQuestion: {question}"),
    RunnableLambda.from((prompt: { toString(): string }) => {
      prompts.push(prompt.toString());
      return prompt as never;
    }),
    model,
    new StringOutputParser(),
  ]);
  expect(await chain.invoke("what hunts in rivers?")).toBe("Herons do.");
  expect(prompts[0]).toContain("Context: herons hunt in rivers");
  const pieces: string[] = [];
  for await (const piece of await chain.stream("what cuts planks?")) pieces.push(piece);
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces.join("")).toBe("Saws do.");
  expect(prompts[1]).toContain("Context: saws cut planks");
  expect(await chain.batch(["what hunts at night?", "what swims?"])).toHaveLength(2);
  const steps: Document[][] = [];
  for await (const part of await store.asRetriever(2).stream("rivers")) steps.push(part);
  expect(steps.flat()).toHaveLength(2);
  const filtered = await store.asRetriever({ filter: { n: { $gte: 3 } } }).batch(["rivers", "planks"]);
  expect(filtered.map((documents) => numbers(documents).sort())).toEqual([
    [3, 4],
    [3, 4],
  ]);
});
