// npm run bench:embeddings -- [model …]
//
// Prints what embedding models find and how fast they are, as Markdown: nDCG@10 on the eight test collections in the
// folder `ir` of SEALDEX_BENCH_DATA (exact search by cosine; title and text of each document), their mean, and texts of
// 60 words embedded per second of wall time and of processor time. Models that are not built in are looked for in the folder
// SEALDEX_MODEL_FOLDER and need @huggingface/transformers.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SealdexEmbeddings } from "sealdex";

const folder = join(process.env.SEALDEX_BENCH_DATA ?? "data", "ir");
const given = process.argv.slice(2);
const models = given.length > 0 ? given : ["sealdex/lexical-512", "sealdex/semantic-768", "default"];
const collections = JSON.parse(readFileSync(join(folder, "README.json"), "utf8")).collections.map(
  ({ name }) => readCollection(name),
);

const names = collections.map(({ name }) => name);
console.log(`| model | dimension | ${names.join(" | ")} | mean | texts/s | texts/CPU-s |`);
console.log(`|---|${"---:|".repeat(names.length + 4)}`);
for (const model of models) {
  const embeddings = new SealdexEmbeddings({ model, localFolder: process.env.SEALDEX_MODEL_FOLDER });
  const { length: dimension } = await embeddings.embedQuery("warm");
  const scores = [];
  for (const collection of collections) scores.push(await meanGain(embeddings, collection));
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const cells = [...scores, mean].map((score) => score.toFixed(4).slice(1));
  console.log(`| ${[model, dimension, ...cells, ...(await speed(embeddings))].join(" | ")} |`);
}

/** nDCG@10, as trec_eval computes it, over the queries that have judgements. */
async function meanGain(embeddings, { documents, queries }) {
  const vectors = await embeddings.embedDocuments(documents.map(({ text }) => text));
  let sum = 0;
  for (const { text, gains } of queries) {
    const query = await embeddings.embedQuery(text);
    const scores = vectors.map((vector) => cosine(query, vector));
    const ranked = [...scores.keys()].sort((a, b) => scores[b] - scores[a] || a - b).slice(0, 10);
    const ideal = discounted([...gains.values()].sort((a, b) => b - a).slice(0, 10));
    sum += discounted(ranked.map((i) => gains.get(documents[i].id) ?? 0)) / ideal;
  }
  return sum / queries.length;
}

function discounted(gains) {
  return gains.reduce((sum, gain, rank) => sum + gain / Math.log2(rank + 2), 0);
}

function cosine(a, b) {
  let [product, squaresA, squaresB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    product += a[i] * b[i];
    squaresA += a[i] * a[i];
    squaresB += b[i] * b[i];
  }
  return product / Math.sqrt(squaresA * squaresB || 1);
}

/** Texts per second of wall time and of processor time: the collections' own words, 60 at a time, for a second at least. */
async function speed(embeddings) {
  const words = collections
    .flatMap(({ documents }) => documents.slice(0, 300))
    .flatMap(({ text }) => text.split(/\s+/));
  const texts = Array.from({ length: Math.floor(words.length / 60) }, (_, i) =>
    words.slice(60 * i, 60 * i + 60).join(" "),
  );
  const started = performance.now();
  const usage = process.cpuUsage();
  let count = 0;
  while (performance.now() - started < 3000) {
    const batch = Array.from({ length: 64 }, (_, i) => texts[(count + i) % texts.length]);
    await embeddings.embedDocuments(batch);
    count += batch.length;
  }
  const { user, system } = process.cpuUsage(usage);
  const seconds = (performance.now() - started) / 1000;
  return [count / seconds, (count / (user + system)) * 1e6].map((rate) => rate.toFixed(0));
}

function readCollection(name) {
  const gainsOf = new Map();
  const judgements = readFileSync(join(folder, name, "qrels.tsv"), "utf8")
    .trim()
    .split("\n")
    .slice(1);
  for (const line of judgements) {
    const [query, document, gain] = line.split("\t");
    if (!gainsOf.has(query)) gainsOf.set(query, new Map());
    gainsOf.get(query).set(document, Number(gain));
  }
  const documents = readLines(join(folder, name, "corpus.jsonl")).map(({ _id, title, text }) => ({
    id: _id,
    text: title ? `${title} ${text}` : text,
  }));
  const queries = readLines(join(folder, name, "queries.jsonl"))
    .filter(({ _id }) => gainsOf.has(_id))
    .map(({ _id, text }) => ({ text, gains: gainsOf.get(_id) }));
  return { name, documents, queries };
}

function readLines(path) {
  return readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
