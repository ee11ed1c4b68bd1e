/** Models by name through transformers.js, on small models that the tests build: nothing comes from the network. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "@huggingface/transformers";
import { Embeddings } from "@langchain/core/embeddings";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient, generateKey, type SealdexError } from "../../src/core.js";
import type { Embedder, EmbeddingInput } from "../../src/embedding/embedder.js";
import type { ModelOptions, ModelProgress } from "../../src/embedding/model-options.js";
import { Models } from "../../src/embedding/models.js";
import { recipeOf } from "../../src/embedding/recipe.js";
import { EncryptedVectorStore, SealdexEmbeddings } from "../../src/index.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { buildModels, smallDimension } from "./small-models.js";
import { failure } from "../outcome.js";

const texts = ["Keys are rotated every year.", "Salmon swim upstream.", "sealed vectors in storage"];
const question = "how often are passwords rotated?";

let localFolder: string;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  localFolder = await buildModels();
});

afterAll(async () => {
  await Promise.all(open.map((each) => each.close()));
  await rm(localFolder, { recursive: true });
});

function embedder(name: string, options: ModelOptions = {}): Embedder {
  const models = new Models({ localFolder, offline: true, ...options });
  open.push(models);
  return models.embedder(name, "embedding model");
}

function newClient(models: ModelOptions = { localFolder, offline: true }, store = createMemoryStore()) {
  const client = createClient({ indexLocation: store, models });
  open.push(client);
  return client;
}

function similarity(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Array.from(a).reduce((sum, x, i) => sum + x * b[i], 0);
}

describe("a model by name", () => {
  test("gives vectors of norm 1, in the order of the texts, whatever else is in the batch", async () => {
    const model = embedder("small-embedder");
    const many = Array.from({ length: 100 }, (_, i) => `${texts[i % 3]} ${"fox ".repeat(i % 7)}`);
    const vectors = await model.embedDocuments(many);
    expect(vectors).toHaveLength(100);
    for (const i of [0, 1, 50, 99]) {
      const [alone] = await model.embedDocuments([many[i]]);
      expect(similarity(vectors[i], alone)).toBeCloseTo(1, 5);
      expect(similarity(alone, alone)).toBeCloseTo(1, 5);
    }
    expect(await model.embedDocuments([])).toEqual([]);
  });

  test("may be the path of a folder", async () => {
    const vector = await embedder(join(localFolder, "small-embedder")).embedQuery(question);
    expect(vector).toEqual(await embedder("small-embedder").embedQuery(question));
  });

  test("puts the prefixes of its family before queries and documents", async () => {
    const plain = embedder("small-embedder");
    const e5 = embedder("intfloat/e5-small");
    expect(await e5.embedQuery(question)).toEqual(await plain.embedQuery(`query: ${question}`));
    expect(await e5.embedDocuments(texts.slice(0, 1))).toEqual(
      await plain.embedDocuments([`passage: ${texts[0]}`]),
    );
  });

  test("is refused if nothing of that name is there and downloads are off", async () => {
    const error = await failure(embedder("all-mpnet-base-v2").embedQuery("a"));
    expect(error.code).toBe("invalid_request");
    expect(error.message).toBe(
      "embedding model all-mpnet-base-v2: no such model in the local folder, the cache folder",
    );
    expect(error.message).not.toContain(localFolder);
  });

  test("is refused if it is not one of those allowed; built-in models always are", async () => {
    const models = new Models({ localFolder, offline: true, allowed: ["small-embedder"] });
    open.push(models);
    const refused =
      /small-embedder; got "e5-small"; a service accepts others that its setting SEALDEX_MODELS lists$/;
    expect(() => models.embedder("e5-small", "embedding model")).toThrow(refused);
    expect(() => models.embedder(join(localFolder, "e5-small"), "embedding model")).toThrow(/expected/);
    await models.embedder("small-embedder", "embedding model").embedQuery("a");
    await models.embedder("default", "embedding model").embedQuery("a");
  });

  test("rejects calls while it loads if asked to, and answers them afterwards", async () => {
    const model = embedder("small-embedder", { failWhileLoading: true });
    const error = await failure(model.embedQuery(question));
    expect(error.code).toBe("model_loading");
    let vector: ArrayLike<number> | undefined;
    while (vector === undefined) {
      vector = await model.embedQuery(question).catch((reason: SealdexError) => {
        expect(reason.code).toBe("model_loading");
        return undefined;
      });
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(vector).toHaveLength(smallDimension);
  });

  test("that could not be loaded is loaded again by the next call", async () => {
    const model = embedder("late-embedder");
    await failure(model.embedQuery("a"));
    expect((await failure(model.embedQuery("a"))).code).toBe("invalid_request");
  });

  test("loses nothing of other calls when a client closes", async () => {
    const models = new Models({ localFolder, offline: true });
    const pending = embedder("small-embedder").embedDocuments(texts);
    await models.close();
    expect(await pending).toHaveLength(3);
  });
});

describe("recipes", () => {
  test.each([
    ["all-MiniLM-L6-v2", "Xenova/all-MiniLM-L6-v2", "mean", "", ""],
    ["sentence-transformers/all-MiniLM-L6-v2", "Xenova/all-MiniLM-L6-v2", "mean", "", ""],
    ["Xenova/all-MiniLM-L6-v2", "Xenova/all-MiniLM-L6-v2", "mean", "", ""],
    ["intfloat/multilingual-e5-small", "Xenova/multilingual-e5-small", "mean", "query: ", "passage: "],
    ["BAAI/bge-m3", "Xenova/bge-m3", "cls", "", ""],
    ["bge-small-en-v1.5", "Xenova/bge-small-en-v1.5", "cls", /^Represent this sentence/, ""],
    ["thenlper/gte-small", "Xenova/gte-small", "mean", "", ""],
    ["Alibaba-NLP/gte-base-en-v1.5", "Alibaba-NLP/gte-base-en-v1.5", "cls", "", ""],
    [
      "nomic-embed-text-v1.5",
      "nomic-ai/nomic-embed-text-v1.5",
      "mean",
      "search_query: ",
      "search_document: ",
    ],
    ["jinaai/jina-embeddings-v2-small-en", "Xenova/jina-embeddings-v2-small-en", "mean", "", ""],
    ["someone/something", "someone/something", "mean", "", ""],
  ])("%s", (name, repository, pooling, queryPrefix, documentPrefix) => {
    expect(recipeOf(name)).toMatchObject({
      repository,
      pooling,
      queryPrefix: expect.stringMatching(queryPrefix === "" ? /^$/ : queryPrefix),
      documentPrefix,
    });
  });
});

describe("an index with a model", () => {
  const create = { indexName: "notes", indexKey: generateKey() };
  const items = texts.map((contents, i) => ({ id: String(i), contents }));

  test("infers its configuration, takes texts and vectors in one call, and answers texts", async () => {
    const client = newClient();
    const index = await client.createIndex({ ...create, embeddingModel: "small-embedder", metric: "cosine" });
    const vector = Array.from(await embedder("small-embedder").embedQuery(question));
    await index.upsert([...items, { id: "given", vector, contents: "fox" }]);
    const description = await index.describe();
    expect(description).toMatchObject({
      type: "ivfflat",
      dimension: smallDimension,
      embeddingModel: "small-embedder",
    });
    const found = await index.query({ queryContents: question, topK: 2 });
    expect(found.map(({ id }) => id)).toEqual(["given", "0"]);
    expect(found[0].distance).toBeCloseTo(0, 5);
  });

  test("refuses a dimension that is not the model's", async () => {
    const indexConfig = { type: "ivf", dimension: 8 } as const;
    const creating = newClient().createIndex({ ...create, embeddingModel: "small-embedder", indexConfig });
    expect((await failure(creating)).code).toBe("dimension_mismatch");
  });

  test("finds its model by the name it remembers", async () => {
    const store = createMemoryStore();
    const index = await newClient(undefined, store).createIndex({
      ...create,
      embeddingModel: "small-embedder",
    });
    await index.upsert(items);
    const again = await newClient(undefined, store).loadIndex(create);
    expect((await again.query({ queryContents: texts[1], topK: 1 }))[0].id).toBe("1");
  });

  test("refuses another revision of its model before it embeds anything", async () => {
    const store = createMemoryStore();
    const index = await newClient(undefined, store).createIndex({
      ...create,
      embeddingModel: "small-embedder",
    });
    await index.upsert(items);
    const other = await buildModels(2);
    const again = await newClient({ localFolder: other, offline: true }, store).loadIndex(create);
    for (const call of [
      again.query({ queryContents: "salmon" }),
      again.upsert([{ id: "x", contents: "salmon" }]),
    ]) {
      const error = await failure(call);
      expect(error.code).toBe("invalid_request");
      expect(error.message).toMatch(
        /"notes" was created with small-embedder; this is another model or revision/,
      );
    }
    expect(await again.count()).toBe(3);
    expect(await again.query({ queryVector: Array(smallDimension).fill(1), topK: 3 })).toHaveLength(3);
    await rm(other, { recursive: true });
  });

  test("refuses a model of another dimension, and takes the same one under another name", async () => {
    const store = createMemoryStore();
    await newClient(undefined, store).createIndex({ ...create, embeddingModel: "small-embedder" });
    const client = newClient(undefined, store);
    const wrong = await client.loadIndex({ ...create, embedding: "sealdex/lexical-64" });
    expect((await failure(wrong.query({ queryContents: "a" }))).code).toBe("dimension_mismatch");
    const same = await client.loadIndex({ ...create, embedding: join(localFolder, "small-embedder") });
    expect(await same.query({ queryContents: "a" })).toEqual([]);
  });

  test("embeds a question that is asked again once", async () => {
    let calls = 0;
    const own = embedder("small-embedder");
    const embedding: Embedder = {
      embedDocuments: (batch) => own.embedDocuments(batch),
      embedQuery(text) {
        calls++;
        return own.embedQuery(text);
      },
    };
    const index = await newClient().createIndex({ ...create, embedding });
    await index.upsert(items);
    const [first, second] = [
      await index.query({ queryContents: question }),
      await index.query({ queryContents: question }),
    ];
    expect(second).toEqual(first);
    expect(calls).toBe(1);
  });
});

describe("embedding, given at creation and at load", () => {
  class OwnEmbeddings extends Embeddings {
    constructor() {
      super({});
    }
    async embedDocuments(batch: string[]): Promise<number[][]> {
      return (await embedder("small-embedder").embedDocuments(batch)).map((vector) => Array.from(vector));
    }
    async embedQuery(text: string): Promise<number[]> {
      return Array.from(await embedder("small-embedder").embedQuery(text));
    }
  }

  const inputs: readonly [string, () => Promise<EmbeddingInput>][] = [
    ["the name of a model", async () => "small-embedder"],
    ["LangChain Embeddings", async () => new OwnEmbeddings()],
    ["a function", async () => (batch) => embedder("small-embedder").embedDocuments(batch)],
    [
      "a pipeline",
      async () =>
        pipeline("feature-extraction", join(localFolder, "small-embedder"), {
          dtype: "q8",
          local_files_only: true,
        }),
    ],
  ];

  test.each(inputs)("%s", async (_, input) => {
    const store = createMemoryStore();
    const address = { indexName: "notes", indexKey: generateKey() };
    const embedding = await input();
    const index = await newClient(undefined, store).createIndex({ ...address, embedding });
    await index.upsert(texts.map((contents, i) => ({ id: String(i), contents })));
    const again = await newClient(undefined, store).loadIndex({ ...address, embedding });
    expect((await again.query({ queryContents: texts[2], topK: 1 }))[0].id).toBe("2");
    // All of them are the same model, so each may take another's place.
    const byName = await newClient(undefined, store).loadIndex({ ...address, embedding: "small-embedder" });
    expect((await byName.query({ queryContents: texts[2], topK: 1 }))[0].id).toBe("2");
  });

  test("what gives no vectors is refused", async () => {
    const wrong: unknown[] = [() => [], () => "vectors", () => [[]], () => [[Number.NaN]], () => [[1], [2]]];
    for (const embedding of wrong as EmbeddingInput[]) {
      const creating = newClient().createIndex({ indexName: "n", indexKey: generateKey(), embedding });
      expect((await failure(creating)).code).toBe("invalid_request");
    }
    for (const embedding of [5, {}, []] as unknown as EmbeddingInput[]) {
      const creating = newClient().createIndex({ indexName: "n", indexKey: generateKey(), embedding });
      expect((await failure(creating)).message).toMatch(/^embedding model: expected the name of a model/);
    }
  });

  test("an index whose model has no name says so when a text comes without it", async () => {
    const store = createMemoryStore();
    const address = { indexName: "notes", indexKey: generateKey() };
    const embedding: EmbeddingInput = (batch) => batch.map((text) => [text.length, 1]);
    await newClient(undefined, store).createIndex({ ...address, embedding });
    const again = await newClient(undefined, store).loadIndex(address);
    const error = await failure(again.query({ queryContents: "a" }));
    expect(error.message).toMatch(/^queryContents: .* give it to loadIndex as embedding$/);
  });
});

describe("in LangChain", () => {
  test("a store takes a name, a function or an Embeddings object", async () => {
    const own = embedder("small-embedder");
    const models = { localFolder, offline: true };
    for (const embeddings of ["small-embedder", (batch: string[]) => own.embedDocuments(batch)]) {
      const store = new EncryptedVectorStore(embeddings, {
        indexName: "notes",
        indexKey: generateKey(),
        indexLocation: { location: "memory" },
        models,
      });
      open.push(store);
      await store.addTexts(texts);
      const [[found, score]] = await store.similaritySearchWithScore(texts[1], 1);
      expect(found.pageContent).toBe(texts[1]);
      expect(score).toBeCloseTo(1, 5);
    }
  });

  test("SealdexEmbeddings reports progress of nothing that is on this machine", async () => {
    const progress: ModelProgress[] = [];
    const onProgress = (each: ModelProgress) => progress.push(each);
    const embeddings = new SealdexEmbeddings({
      model: "small-embedder",
      localFolder,
      offline: true,
      onProgress,
    });
    expect(await embeddings.embedQuery("a")).toHaveLength(smallDimension);
    expect(progress).toEqual([]);
  });
});
