// node models.mjs FOLDER MODEL ITEMS
// A project that embeds with a model by its name: see scripts/check-models.mjs.

import { strictEqual } from "node:assert";
import { join } from "node:path";
import { HuggingFaceTransformersEmbeddings } from "@langchain/community/embeddings/huggingface_transformers";
import { createClient, EncryptedVectorStore, generateKey } from "sealdex";

const [localFolder, model, count] = process.argv.slice(2);
const { SEALDEX_URL: baseUrl, SEALDEX_API_KEY: apiKey } = process.env;
const answer = "Every key is replaced once a year.";
const question = "How often are passwords changed?";
const subjects = ["salmon", "rivers", "glaciers", "violins", "tram lines", "bread", "chess openings"];
const texts = Array.from({ length: Number(count) }, (_, i) =>
  i === 7 ? answer : `Note ${i} is about ${subjects[i % subjects.length]} and nothing else.`,
);
const models = { localFolder, offline: true };
const memory = { indexLocation: { location: "memory" } };

async function library(client, options) {
  const index = await client.createIndex({
    indexName: "notes",
    indexKey: generateKey(),
    metric: "cosine",
    ...options,
  });
  await index.upsert(texts.map((contents, i) => ({ id: `${i}`, contents })));
  const [match] = await index.query({ queryContents: question, topK: 1, nProbes: 0, include: ["contents"] });
  strictEqual(match.contents, answer);
  const { dimension } = await index.describe();
  strictEqual(dimension, 384);
  await client.close();
}

async function langchain(embeddings, place) {
  const store = new EncryptedVectorStore(embeddings, {
    indexName: "chain",
    indexKey: generateKey(),
    ...place,
  });
  await store.addTexts(texts);
  const [document] = await store.similaritySearch(question, 1);
  strictEqual(document.pageContent, answer);
  await store.close();
}

async function timed(name, work) {
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1000;
  process.stdout.write(`${name.padEnd(56)} ${count} items in ${seconds.toFixed(1)} s\n`);
}

async function serviceIsUp() {
  for (;;) {
    const answered = await fetch(`${baseUrl}/v1/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (answered) return;
    await new Promise((done) => setTimeout(done, 100));
  }
}

const community = () =>
  new HuggingFaceTransformersEmbeddings({
    model: join(localFolder, model),
    pretrainedOptions: { dtype: "q8", local_files_only: true },
  });

await serviceIsUp();
await timed("library", () => library(createClient({ ...memory, models }), { embeddingModel: model }));
await timed("HTTP", () => library(createClient({ baseUrl, apiKey }), { embeddingModel: model }));
await timed("LangChain", () => langchain(model, { ...memory, models }));
await timed("LangChain over HTTP", () => langchain(model, { baseUrl, apiKey, models }));
await timed("library, HuggingFaceTransformersEmbeddings", () =>
  library(createClient(memory), { embedding: community() }),
);
await timed("LangChain, HuggingFaceTransformersEmbeddings", () => langchain(community(), memory));
