// npm run bench -- embeddings [--speed] [model …]
//
// Prints what embedding models find and how fast they are, as Markdown: nDCG@10 on the eight test collections in the
// folder `ir` of SEALDEX_BENCH_DATA (exact search by cosine; title and text of each document), their mean, the megabytes of
// the model's files, its licence, and texts of 60 words embedded per second of wall time and of processor time. Models that
// are not built in are looked for in the folder SEALDEX_MODEL_FOLDER, default `models` of SEALDEX_BENCH_DATA, and need
// @huggingface/transformers; for those, the last column is their texts per second over those of the bare pipeline, which
// gets the same texts in batches of 32 in the same process, by turns. `--speed`: without the collections.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { SealdexEmbeddings } from "sealdex";
import { collections, data, ndcg } from "./collections.mjs";

const localFolder = process.env.SEALDEX_MODEL_FOLDER ?? join(data, "models");
const given = process.argv.slice(2).filter((name) => !name.startsWith("--"));
const onlySpeed = process.argv.includes("--speed");
const present = ["all-MiniLM-L6-v2", "bge-small-en-v1.5"].filter((name) =>
  existsSync(join(localFolder, name)),
);
const models =
  given.length > 0 ? given : ["sealdex/lexical-512", "sealdex/semantic-768", "default", ...present];
const all = collections();

const names = onlySpeed ? [] : [...all.map(({ name }) => name), "mean"];
const head = ["model", "dimension", ...names, "MB", "licence", "texts/s", "texts/CPU-s", "of the pipeline"];
console.log(`| ${head.join(" | ")} |\n|---|${"---:|".repeat(head.length - 1)}`);
for (const model of models) {
  const embeddings = new SealdexEmbeddings({ model, localFolder });
  const { length: dimension } = await embeddings.embedQuery("warm");
  const scores = [];
  for (const collection of onlySpeed ? [] : all) scores.push(await meanGain(embeddings, collection));
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const cells = (onlySpeed ? [] : [...scores, mean]).map((score) => score.toFixed(4).slice(1));
  const { megabytes, licence } = filesOf(model);
  const { wall, cpu, ratio } = await speed(embeddings, await barePipeline(model));
  console.log(`| ${[model, dimension, ...cells, megabytes, licence, wall, cpu, ratio].join(" | ")} |`);
}

/** What the weights take on disk, and their licence. */
function filesOf(model) {
  const isLocal = existsSync(join(localFolder, model, "config.json"));
  if (!isLocal && /lexical/.test(model)) return { megabytes: "0", licence: "MIT" };
  const at = isLocal ? join(localFolder, model) : "model/data";
  const bytes = readdirSync(at, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && /\.(onnx|safetensors|txt)$/.test(file.name))
    .reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
  const text = isLocal ? readFileSync(join(at, "LICENSE"), "utf8") : "Apache";
  return { megabytes: (bytes / 1e6).toFixed(1), licence: /Apache/.test(text) ? "Apache-2.0" : "MIT" };
}

/** The model as transformers.js runs it by itself: a function of texts. Undefined for built-in models. */
async function barePipeline(model) {
  if (!existsSync(join(localFolder, model, "config.json"))) return undefined;
  const { env, pipeline } = await import("@huggingface/transformers");
  env.localModelPath = localFolder;
  env.allowRemoteModels = false;
  const extract = await pipeline("feature-extraction", model, { dtype: "q8", local_files_only: true });
  const pooling = model.startsWith("bge-") ? "cls" : "mean";
  return async (texts) => {
    for (let at = 0; at < texts.length; at += 32) {
      (await extract(texts.slice(at, at + 32), { pooling, normalize: true })).tolist();
    }
  };
}

/** nDCG@10 over the queries that have judgements. */
async function meanGain(embeddings, { texts, queries }) {
  const vectors = await embeddings.embedDocuments(texts);
  let sum = 0;
  for (const { text, gains } of queries) {
    const query = await embeddings.embedQuery(text);
    const scores = vectors.map((vector) => cosine(query, vector));
    const ranked = [...scores.keys()].sort((a, b) => scores[b] - scores[a] || a - b);
    sum += ndcg(ranked, gains);
  }
  return sum / queries.length;
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

/**
 * Texts per second of wall time and of processor time, and over those of `bare`: the collections' own words, 60 at a time,
 * for three seconds at least.
 */
async function speed(embeddings, bare) {
  const words = all.flatMap((each) => each.texts.slice(0, 300)).flatMap((text) => text.split(/\s+/));
  const texts = Array.from({ length: Math.floor(words.length / 60) }, (_, i) =>
    words.slice(60 * i, 60 * i + 60).join(" "),
  );
  const own = { seconds: 0, cpuSeconds: 0 };
  const other = { seconds: 0, cpuSeconds: 0 };
  let count = 0;
  for (let turn = 0; own.seconds < 3 || turn < 8; turn++) {
    const batch = Array.from({ length: 128 }, (_, i) => texts[(count + i) % texts.length]);
    const runs = [
      () => timed(own, () => embeddings.embedDocuments(batch)),
      () => bare && timed(other, () => bare(batch)),
    ];
    // By turns, so that both meet the same machine.
    for (const run of turn % 2 === 0 ? runs : runs.reverse()) await run();
    count += batch.length;
  }
  return {
    wall: (count / own.seconds).toFixed(0),
    cpu: (count / own.cpuSeconds).toFixed(0),
    ratio: bare ? (other.seconds / own.seconds).toFixed(2) : "-",
  };
}

async function timed(sums, work) {
  const usage = process.cpuUsage();
  const started = performance.now();
  await work();
  const { user, system } = process.cpuUsage(usage);
  sums.seconds += (performance.now() - started) / 1000;
  sums.cpuSeconds += (user + system) / 1e6;
}
