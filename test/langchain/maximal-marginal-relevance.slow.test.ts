import { Document } from "@langchain/core/documents";
import { Embeddings } from "@langchain/core/embeddings";
import { maximalMarginalRelevance as langchains } from "@langchain/core/utils/math";
import { afterAll, describe, expect, test } from "vitest";
import { maximalMarginalRelevance } from "../../src/langchain/maximal-marginal-relevance.js";
import { createClient, EncryptedVectorStore, generateKey } from "../../src/index.js";
import { type IndexType, metrics } from "../../src/engine/config.js";
import { seededRandom } from "../../src/engine/random.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { bruteForceDistance } from "../behavior/behavior.js";
import { startService } from "../http/service.js";

const random = seededRandom(17);

function gaussian(): number {
  return Math.sqrt(-2 * Math.log(random() || 1e-9)) * Math.cos(2 * Math.PI * random());
}

function vectorOf(dimension: number, component: () => number): Float32Array {
  return Float32Array.from({ length: dimension }, component);
}

/** The picks of LangChain's own function. */
function expected(query: ArrayLike<number>, candidates: Float32Array[], lambda: number, k: number): number[] {
  return langchains(
    Array.from(query),
    candidates.map((candidate) => Array.from(candidate)),
    lambda,
    k,
  );
}

describe("maximal marginal relevance picks the same as LangChain's own function", () => {
  test.each([
    ["gaussian vectors", gaussian],
    ["few different values, so that ties abound", () => Math.floor(3 * random()) - 1],
    ["equal vectors", () => 1],
    ["zero vectors", () => 0],
    ["large and small values", () => gaussian() * 10 ** (40 * random() - 20)],
  ])("%s", (_, component) => {
    for (const dimension of [1, 2, 7, 64]) {
      for (const n of [1, 2, 5, 30]) {
        const candidates = Array.from({ length: n }, () => vectorOf(dimension, component));
        const query = Array.from(vectorOf(dimension, component), (value) => value * (1 + 1e-9));
        for (const lambda of [0, 0.25, 0.5, 1]) {
          for (const k of [0, 1, 4, n, n + 3]) {
            const picks = maximalMarginalRelevance(query, candidates, lambda, k);
            expect(picks).toEqual(expected(query, candidates, lambda, k));
          }
        }
      }
    }
  });

  test("no candidates", () => {
    expect(maximalMarginalRelevance([1, 2], [], 0.5, 4)).toEqual([]);
  });
});

/** Vectors by text; counts its calls. */
class TableEmbeddings extends Embeddings {
  queries = 0;
  documents = 0;
  readonly table: ReadonlyMap<string, number[]>;
  constructor(table: ReadonlyMap<string, number[]>) {
    super({});
    this.table = table;
  }
  async embedQuery(text: string): Promise<number[]> {
    this.queries++;
    return this.table.get(text) as number[];
  }
  async embedDocuments(texts: string[]): Promise<number[][]> {
    this.documents += texts.length;
    return texts.map((text) => this.table.get(text) as number[]);
  }
}

const service = await startService();
const memory = createClient({ indexLocation: { location: "memory" } });
afterAll(() => Promise.all([service.close(), memory.close()]));

const places = {
  embedded: { client: memory },
  "over HTTP": { baseUrl: service.baseUrl, apiKey: service.apiKey },
};

describe.each(Object.entries(places))("maxMarginalRelevanceSearch, %s", (_, place) => {
  const table = new Map(
    Array.from({ length: 60 }, (_each, i): [string, number[]] => [
      `text ${i}`,
      Array.from(vectorOf(8, gaussian)),
    ]),
  );
  table.set("question", Array.from(vectorOf(8, gaussian)));
  const texts = [...table.keys()].filter((text) => text !== "question");
  let made = 0;

  async function filled(more: object = {}) {
    const embeddings = new TableEmbeddings(table);
    const args = { indexName: `mmr ${made++}`, indexKey: generateKey(), ...place, ...more };
    const store = new EncryptedVectorStore(embeddings, args);
    await store.addDocuments(
      texts.map(
        (pageContent, i) => new Document({ pageContent, id: `${i}`, metadata: { even: i % 2 === 0 } }),
      ),
    );
    return { store, embeddings, args };
  }

  /** The `fetchK` nearest by LangChain's cosine, reranked by LangChain's function. */
  async function reference(
    store: EncryptedVectorStore,
    fetchK: number,
    lambda: number,
    k: number,
    filter = {},
  ) {
    const query = table.get("question") as number[];
    const near = await store.similaritySearchVectorWithScore(query, fetchK, filter);
    const vectors = near.map(([{ pageContent }]) => Float32Array.from(table.get(pageContent) as number[]));
    return expected(query, vectors, lambda, k).map((i) => near[i][0]);
  }

  test("reranks the fetchK nearest documents; k, fetchK and lambda have LangChain's usual defaults", async () => {
    const { store } = await filled();
    expect(await store.maxMarginalRelevanceSearch("question", { k: 4 })).toEqual(
      await reference(store, 20, 0.5, 4),
    );
    expect(await store.maxMarginalRelevanceSearch("question", {} as never)).toHaveLength(4);
    for (const [fetchK, lambda, k] of [
      [60, 0, 10],
      [10, 0.9, 10],
      [30, 1, 5],
      [1000, 0.3, 60],
    ]) {
      expect(await store.maxMarginalRelevanceSearch("question", { k, fetchK, lambda })).toEqual(
        await reference(store, fetchK, lambda, k),
      );
    }
    const nearest = await store.similaritySearch("question", 6);
    expect(await store.maxMarginalRelevanceSearch("question", { k: 6, lambda: 1 })).toEqual(nearest);
  });

  test("gives k documents even where fetchK is less, all where there are fewer, and none for 0", async () => {
    const { store } = await filled();
    expect(await store.maxMarginalRelevanceSearch("question", { k: 30 })).toHaveLength(30);
    expect(await store.maxMarginalRelevanceSearch("question", { k: 5, fetchK: 2 })).toHaveLength(5);
    expect(await store.maxMarginalRelevanceSearch("question", { k: 20_000 })).toHaveLength(60);
    expect(await store.maxMarginalRelevanceSearch("question", { k: 0 })).toEqual([]);
    for (const options of [
      { k: -1 },
      { k: 1.5 },
      { k: 4, fetchK: Number.NaN },
      { k: 4, lambda: 2 },
      { k: 4, lambda: Number.NaN },
    ]) {
      await expect(store.maxMarginalRelevanceSearch("question", options)).rejects.toMatchObject({
        code: "invalid_request",
      });
    }
  });

  test("keeps to its filter and to the store's own", async () => {
    const { store } = await filled();
    const even = { even: true };
    expect(await store.maxMarginalRelevanceSearch("question", { k: 8, filter: even })).toEqual(
      await reference(store, 20, 0.5, 8, even),
    );
    const { embeddings, args } = await filled();
    const odd = new EncryptedVectorStore(embeddings, { ...args, filter: { even: false } });
    const found = await odd.maxMarginalRelevanceSearch("question", { k: 60, filter: { even: true } });
    expect(found).toEqual([]);
    const documents = await odd.maxMarginalRelevanceSearch("question", { k: 60 });
    expect(documents).toHaveLength(30);
    for (const { metadata } of documents) expect(metadata).toEqual({ even: false });
  });

  test("works through a retriever, embedding one query and no document", async () => {
    const { store, embeddings } = await filled();
    const searchKwargs = { fetchK: 40, lambda: 0.2 };
    const retriever = store.asRetriever({ searchType: "mmr", k: 7, filter: { even: true }, searchKwargs });
    embeddings.queries = 0;
    embeddings.documents = 0;
    const found = await retriever.invoke("question");
    expect([embeddings.queries, embeddings.documents]).toEqual([1, 0]);
    expect(found).toEqual(await reference(store, 40, 0.2, 7, { even: true }));
  });

  test("works on a trained index, where the nearest come from the probed lists", async () => {
    const { store, index } = await trained({ greedy: true });
    expect(await index.describe()).toMatchObject({ trained: true, nLists: 4 });
    expect(await store.maxMarginalRelevanceSearch("question", { k: 9 })).toEqual(
      await reference(store, 20, 0.5, 9),
    );
  });

  async function trained(more: object) {
    const { store, args } = await filled(more);
    const client = "client" in place ? place.client : createClient(place);
    const { indexName, indexKey } = args;
    const index = await client.loadIndex({ indexName, indexKey });
    await index.train({ nLists: 4 });
    return { store, index };
  }

  describe.each([
    { indexType: "ivf" },
    { indexType: "ivfpq", indexConfigParams: { pqDim: 8 } },
    { indexType: "ivfpq", indexConfigParams: { pqDim: 4, pqBits: 4 } },
  ] as const)("on codes without vectors: $indexType, $indexConfigParams", (options) => {
    test.each(metrics)("reranks the decoded codes, under %s", async (metric) => {
      const { store, index } = await trained({ ...options, metric });
      const query = table.get("question") as number[];
      const include = ["decoded", "contents"] as const;
      for (const [k, fetchK, lambda] of [
        [4, 20, 0.5],
        [10, 60, 0.2],
      ]) {
        const near = await index.query({ queryVector: query, topK: fetchK, nProbes: 0, include });
        const decoded = near.map((match) => match.decoded as Float32Array);
        const picks = expected(query, decoded, lambda, k).map((i) => near[i].contents);
        const found = await store.maxMarginalRelevanceSearch("question", { k, fetchK, lambda });
        expect(found.map(({ pageContent }) => pageContent)).toEqual(picks);
      }
      // They lie where the vectors lie: as directions under cosine, as they are under the others.
      const all = await index.get(
        texts.map((__, i) => `${i}`),
        { include },
      );
      const errors = all.map(({ decoded = new Float32Array(), contents }) => {
        const vector = Float32Array.from(table.get(contents as string) as number[]);
        const scale = metric === "cosine" ? 1 / Math.hypot(...vector) : 1;
        const error = Math.hypot(...decoded.map((value, i) => value - scale * vector[i]));
        return error / (scale * Math.hypot(...vector));
      });
      expect(errors).toHaveLength(60);
      expect(errors.reduce((sum, error) => sum + error, 0) / 60).toBeLessThan(0.4);
    });

    test("keeps to its filter", async () => {
      const { store } = await trained(options);
      const found = await store.maxMarginalRelevanceSearch("question", { k: 60, filter: { even: true } });
      expect(found).toHaveLength(30);
      for (const { metadata } of found) expect(metadata).toEqual({ even: true });
    });
  });
});

test("of the picks from vectors, compressed indexes share most", async () => {
  const [n, d] = [2000, 64];
  const vectors = rowsOf(clustered(n + 20, d, 25, 11), d);
  const rows = vectors.slice(0, n).map((vector, i) => ({ id: `${i}`, vector, contents: `${i}` }));
  const overlap = async (indexType: IndexType, params: object) => {
    const address = { indexName: `overlap ${indexType}`, indexKey: generateKey() };
    const index = await memory.createIndex({
      ...address,
      metric: "cosine",
      indexConfig: { type: indexType, ...params },
    });
    await index.upsert(rows);
    await index.train({ nLists: 25 });
    let shared = 0;
    for (const query of vectors.slice(n)) {
      const embeddings = new TableEmbeddings(new Map([["question", Array.from(query)]]));
      const store = new EncryptedVectorStore(embeddings, { ...address, client: memory, greedy: true });
      const found = await store.maxMarginalRelevanceSearch("question", { k: 10, fetchK: 50 });
      const near = rows
        .map(({ id, vector }) => ({ id, vector, distance: bruteForceDistance("cosine", query, vector) }))
        .sort((a, b) => a.distance - b.distance)
        .slice(0, 50);
      const exact = expected(
        query,
        near.map(({ vector }) => vector),
        0.5,
        10,
      ).map((i) => near[i].id);
      shared += found.filter(({ id }) => exact.includes(id as string)).length;
    }
    return shared / (10 * 20);
  };
  expect(await overlap("ivfflat", {})).toBe(1);
  expect(await overlap("ivf", {})).toBeGreaterThanOrEqual(0.5);
  expect(await overlap("ivfpq", { pqDim: 32 })).toBeGreaterThanOrEqual(0.65);
});
