// node bench/langchain-mmr.mjs        (after npm run build)
//
// Maximal marginal relevance through the store: k of fetchK candidates, 384 dimensions. Prints the time of the picks
// alone, of a whole search (query, vectors and texts from the index, picks), and of LangChain's own function on the
// same vectors, as Markdown.

import { cpus } from "node:os";
import { Embeddings } from "@langchain/core/embeddings";
import { maximalMarginalRelevance as langchains } from "@langchain/core/utils/math";
import { createClient, EncryptedVectorStore, generateKey } from "sealdex";
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
await overlap();

/** How many of the picks from compressed indexes are those of exact vectors, for clustered vectors that were trained on. */
async function overlap() {
  const centres = Array.from({ length: 50 }, () => randomVector());
  const near = (centre) => centre.map((value) => value + 0.6 * (Math.random() - 0.5));
  const clustered = Array.from({ length: documents }, (_, i) => near(centres[i % centres.length]));
  const client = createClient({ indexLocation: { location: "memory" } });
  console.log("\n| index, trained | picks shared with exact MMR, k = 10 of 50 |\n|---|---:|");
  const queries = centres.slice(0, 20).map(near);
  let exact;
  for (const indexType of ["ivfflat", "ivf", "ivfpq"]) {
    const address = { indexName: indexType, indexKey: generateKey() };
    const embeddings = new Given(query);
    const params = indexType === "ivfpq" ? { pqDim: dimension / 4 } : {};
    const args = { ...address, client, indexType, indexConfigParams: params, greedy: true };
    const trained = new EncryptedVectorStore(embeddings, args);
    await trained.addVectors(
      clustered,
      clustered.map((_, i) => ({ pageContent: `${i}`, metadata: {} })),
    );
    const failed = await (await client.loadIndex(address)).train({ nLists: 50 }).catch((error) => error);
    if (failed) {
      console.log(`| ${indexType} | ${failed.code} |`);
      continue;
    }
    let shared = 0;
    const picks = [];
    for (const asked of queries) {
      embeddings.vector = asked;
      const found = await trained.maxMarginalRelevanceSearch("any", { k: 10, fetchK: 50 });
      picks.push(found.map(({ pageContent }) => pageContent));
    }
    exact ??= picks;
    picks.forEach((some, i) => (shared += some.filter((pick) => exact[i].includes(pick)).length));
    console.log(`| ${indexType} | ${(shared / (10 * queries.length)).toFixed(3)} |`);
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
