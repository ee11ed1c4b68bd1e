// node bench/langchain-mmr.mjs        (after npm run build)
//
// Maximal marginal relevance through the store: k of fetchK candidates, 384 dimensions. Prints the time of the picks
// alone, of a whole search (query, vectors and texts from the index, picks), and of LangChain's own function on the
// same vectors, as Markdown; then what trained indexes of each type pick, of seeded clustered vectors and, where
// SEALDEX_BENCH_DATA names a folder that has them, of text vectors.

import { cpus } from "node:os";
import { Embeddings } from "@langchain/core/embeddings";
import { maximalMarginalRelevance as langchains } from "@langchain/core/utils/math";
import { createClient, EncryptedVectorStore, generateKey } from "sealdex";
import { loadDataset, syntheticVectors } from "./search/datasets.mjs";
import { maximalMarginalRelevance } from "../dist/esm/langchain/maximal-marginal-relevance.js";

const dimension = 384;
const documents = 5_000;

class Given extends Embeddings {
  constructor(vector) {
    super({});
    this.vector = vector;
  }
  async embedQuery() {
    return this.vector;
  }
  async embedDocuments() {
    throw new Error("a search embeds no document");
  }
}

const vectors = Array.from({ length: documents }, () => randomVector());
const query = randomVector();
const store = new EncryptedVectorStore(new Given(query), {
  indexName: "bench",
  indexKey: generateKey(),
  indexLocation: { location: "memory" },
});
await store.addVectors(
  vectors,
  vectors.map((_, i) => ({ pageContent: `document ${i}`, metadata: {} })),
);

console.log(
  `Node ${process.version}, ${cpus()[0].model}; ${documents} documents of ${dimension} dimensions\n`,
);
console.log("| k | fetchK | picks (ms) | whole search (ms) | LangChain's function (ms) | same picks |");
console.log("|---:|---:|---:|---:|---:|---|");
for (const [k, fetchK] of [
  [4, 20],
  [10, 100],
  [20, 200],
  [50, 1000],
]) {
  const near = await store.similaritySearchVectorWithScore(query, fetchK);
  const candidates = near.map(([{ pageContent }]) => Float32Array.from(vectors[pageContent.split(" ")[1]]));
  const picks = await median(21, () => maximalMarginalRelevance(query, candidates, 0.5, k));
  const search = await median(21, () => store.maxMarginalRelevanceSearch("any", { k, fetchK }));
  const plain = candidates.map((candidate) => Array.from(candidate));
  const theirs = await median(1, () => langchains(query, plain, 0.5, k));
  const same = String(picks.result) === String(theirs.result) ? "yes" : "NO";
  const times = [picks, search, theirs].map(({ ms }) => ms.toFixed(1)).join(" | ");
  console.log(`| ${k} | ${fetchK} | ${times} | ${same} |`);
}
await store.close();
await trained("clustered", syntheticVectors(20_000, dimension, 200));
if (process.env.SEALDEX_BENCH_DATA !== undefined) await trained("text", loadDataset("text"));

/**
 * Trained indexes: how many of the picks are those of exact MMR, which are an index's own while it is not trained, and how long
 * a search takes with the number of lists that the index chooses, or all of them (greedy).
 */
async function trained(name, { base, queries, dimension: d = dimension }) {
  const rowsOf = (data) =>
    Array.from({ length: data.length / d }, (_, i) => data.subarray(i * d, (i + 1) * d));
  const rows = rowsOf(base);
  const asked = rowsOf(queries)
    .slice(0, 200)
    .map((row) => Array.from(row));
  const client = createClient({ indexLocation: { location: "memory" } });
  console.log(`\n${rows.length} ${name} vectors of ${d} dimensions, ${asked.length} queries\n`);
  console.log("| index, trained | lists | picks of exact MMR, 10 of 50 | 4 of 20 (ms) | 10 of 50 (ms) |");
  console.log("|---|---|---:|---:|---:|");
  const picksOf = async (searched, options) => {
    const picks = [];
    const took = [];
    for (const vector of asked) {
      searched.embeddings.vector = vector;
      const started = performance.now();
      const found = await searched.maxMarginalRelevanceSearch("any", options);
      took.push(performance.now() - started);
      picks.push(found.map(({ id }) => id));
    }
    return { picks, ms: took.sort((a, b) => a - b)[took.length >> 1].toFixed(2) };
  };
  let exact;
  for (const indexType of ["ivfflat", "ivf", "ivfpq"]) {
    const address = { indexName: indexType, indexKey: generateKey() };
    const indexConfigParams = indexType === "ivfpq" ? { pqDim: d / 4 } : {};
    const args = { ...address, client, indexType, indexConfigParams };
    const automatic = new EncryptedVectorStore(new Given(), args);
    const index = await client.createIndex({
      ...address,
      metric: "cosine",
      indexConfig: { type: indexType, ...indexConfigParams },
    });
    for (let from = 0; from < rows.length; from += 5000) {
      await index.upsert(
        rows.slice(from, from + 5000).map((vector, i) => ({ id: `${from + i}`, vector, contents: "text" })),
      );
    }
    exact ??= (
      await picksOf(new EncryptedVectorStore(new Given(), { ...args, greedy: true }), { k: 10, fetchK: 50 })
    ).picks;
    await index.train();
    const greedy = new EncryptedVectorStore(new Given(), { ...args, greedy: true });
    for (const [lists, searched] of Object.entries({ chosen: automatic, all: greedy })) {
      const few = await picksOf(searched, { k: 4, fetchK: 20 });
      const { picks, ms } = await picksOf(searched, { k: 10, fetchK: 50 });
      const shared = picks.map((some, i) => some.filter((id) => exact[i].includes(id)).length / 10);
      const share = shared.reduce((a, b) => a + b) / shared.length;
      console.log(`| ${indexType} | ${lists} | ${share.toFixed(3)} | ${few.ms} | ${ms} |`);
    }
  }
  await client.close();
}

function randomVector() {
  return Array.from({ length: dimension }, () => Math.random() - 0.5);
}

async function median(times, run) {
  const took = [];
  let result;
  for (let i = 0; i < times; i++) {
    const started = performance.now();
    result = await run();
    took.push(performance.now() - started);
  }
  return { ms: took.sort((a, b) => a - b)[times >> 1], result };
}
