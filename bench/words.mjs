// npm run bench -- words [passages …] [--peers] [--hybrid]
//
// Queries by words over passages of 60 words, one thread, local disk: ingest, size, warm and cold queries. What writes and the
// compaction of all take of the processor goes to stderr. Words follow Zipf's law; a query is two to four words of one passage, none of
// them among the 100 most frequent. With --hybrid vectors have 128 dimensions, and the index is trained and asked by words and vectors,
// too. With --peers also MiniSearch, FlexSearch, Orama and SQLite FTS5 as far as bench/package.json is installed: they keep the texts
// in memory, unencrypted.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyIndex, createClient, generateKey } from "sealdex/core";
import { folderBytes } from "./search/rows.mjs";
import { wordPeers } from "./word-peers.mjs";

const args = process.argv.slice(2);
const withPeers = args.includes("--peers");
const sizes = args.filter((arg) => !arg.startsWith("--")).map(Number);

const wordsPerPassage = 60;
const vocabularySize = 200_000;
const queryCount = 400;
const batch = 10_000;
const withHybrid = args.includes("--hybrid");
const dimension = withHybrid ? 128 : 8;

/** Passages by number: the same each time. */
class Corpus {
  #ends = new Float64Array(vocabularySize);
  #words = Array.from({ length: vocabularySize }, (_, rank) => wordOf(rank));

  constructor() {
    let sum = 0;
    for (let rank = 0; rank < vocabularySize; rank++) this.#ends[rank] = sum += 1 / (rank + 2.7) ** 1.05;
  }

  #ranks(number) {
    const random = randomOf(number);
    return Array.from({ length: wordsPerPassage }, () => {
      const sought = random() * this.#ends[vocabularySize - 1];
      let low = 0;
      for (let high = vocabularySize - 1; low < high;) {
        const middle = (low + high) >>> 1;
        if (this.#ends[middle] < sought) low = middle + 1;
        else high = middle;
      }
      return low;
    });
  }

  passage(number) {
    return this.#ranks(number)
      .map((rank) => this.#words[rank])
      .join(" ");
  }

  bytes(count) {
    let bytes = 0;
    for (let i = 0; i < count; i++) bytes += this.passage(i).length;
    return bytes;
  }

  queries(count) {
    const random = randomOf(12_345);
    return Array.from({ length: queryCount }, () => {
      const rare = this.#ranks(Math.floor(random() * count)).filter((rank) => rank >= 100);
      return rare
        .slice(0, 2 + Math.floor(random() * 3))
        .map((rank) => this.#words[rank])
        .join(" ");
    });
  }
}

/** As in English, the most frequent words are stop words, a third of all. */
const stopWords =
  "the of and to a in is it that for was on are as with his they at be this from have or by not but what all were we when your can there an which their if will each how".split(
    " ",
  );

/** Frequent words are short. */
function wordOf(rank) {
  if (rank < stopWords.length) return stopWords[rank];
  let word = "";
  for (let rest = rank + 20; rest > 0; rest = Math.floor(rest / 60)) {
    word += "bdfgklmnprtv"[rest % 12] + "aeiou"[Math.floor(rest / 12) % 5];
  }
  return `${word}k`;
}

function randomOf(seed) {
  let state = (seed + 1) * 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

console.log(
  "| engine | passages | passages/s | index / text bytes | p50 (ms) | p99 (ms) | cold (ms) | peak (MiB) |",
);
console.log("|---|---:|---:|---:|---:|---:|---:|---:|");
for (const count of sizes.length > 0 ? sizes : [100_000]) {
  const corpus = new Corpus();
  await sealdex(count, corpus);
  if (withPeers) for (const peer of await wordPeers()) await measurePeer(peer, count, corpus);
}

async function sealdex(count, corpus) {
  const path = mkdtempSync(join(tmpdir(), "sealdex-words-"));
  try {
    const plain = await ingest(join(path, "plain"), count, corpus, false);
    const words = await ingest(join(path, "words"), count, corpus, true);
    const textBytes = corpus.bytes(count);
    const queries = corpus.queries(count);
    const found = await words.index.query({ queryText: queries[0], topK: 10, include: [] });
    if (found.length === 0) throw new Error("nothing was found");
    const times = await warmTimes(queries, (queryText) =>
      words.index.query({ queryText, topK: 10, include: [] }),
    );
    if (withHybrid) await measureHybrid(words, count, queries);
    await words.client.close();
    const cold = [];
    for (const queryText of queries.slice(0, 5)) {
      const client = open(join(path, "words"));
      const index = await client.loadIndex(words.options);
      const started = performance.now();
      await index.query({ queryText, topK: 10, include: [] });
      cold.push(performance.now() - started);
      await client.close();
    }
    const ratio = (words.bytes - plain.bytes) / textBytes;
    report("Sealdex", count, count / words.seconds, ratio, times, percentile(cold, 0.5));
    console.error(`without words ${(count / plain.seconds).toFixed(0)} passages/s`);
    const cpu = [words.upsertCpu, words.compactCpu].map((seconds) => (count / seconds).toFixed(0));
    console.error(`per CPU second ${cpu[0]} passages written, ${cpu[1]} compacted`);
  } finally {
    rmSync(path, { recursive: true });
  }
}

async function measureHybrid({ index }, count, queries) {
  await index.train();
  const times = await warmTimes(queries, (queryText, i) =>
    index.query({ queryText, queryVector: vectorOf(count + i), topK: 10, include: [] }),
  );
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(times, share).toFixed(3));
  console.error(`hybrid, trained: p50 ${p50} ms, p99 ${p99} ms`);
}

/** Of each query, the second time it is asked. */
async function warmTimes(queries, search) {
  const times = [];
  for (const round of [0, 1]) {
    for (const [i, query] of queries.entries()) {
      const started = performance.now();
      await search(query, i);
      if (round === 1) times.push(performance.now() - started);
    }
  }
  return times;
}

function open(path) {
  return createClient({ ...locationAt(path), automaticTraining: false, maxStalenessMs: 1000 });
}

function locationAt(path) {
  return { indexLocation: { location: "local", path } };
}

async function ingest(path, count, corpus, textIndex) {
  const client = open(path);
  const options = { indexName: "words", indexKey: generateKey() };
  const index = await client.createIndex({ ...options, textIndex });
  let seconds = 0;
  let upsertCpu = 0;
  for (let first = 0; first < count; first += batch) {
    const items = Array.from({ length: Math.min(batch, count - first) }, (_, i) => ({
      id: `passage ${first + i}`,
      vector: vectorOf(first + i),
      contents: corpus.passage(first + i),
    }));
    const started = performance.now();
    const cpuBefore = process.cpuUsage();
    await index.upsert(items);
    seconds += (performance.now() - started) / 1000;
    upsertCpu += userSeconds(cpuBefore);
  }
  const cpuBefore = process.cpuUsage();
  await index.compact();
  const compactCpu = userSeconds(cpuBefore);
  if (!textIndex) await client.close();
  // Of the index alone: what it replaced stays for 15 minutes.
  const copy = `${path}-copy`;
  await copyIndex({ ...options, from: locationAt(path), to: locationAt(copy) });
  return { client, index, options, seconds, upsertCpu, compactCpu, bytes: folderBytes(copy) };
}

/** Near one of 1,000 centres. */
function vectorOf(number) {
  const centre = randomOf(number % 1000);
  const random = randomOf(number);
  return Float32Array.from({ length: dimension }, () => centre() + random() / 2);
}

function userSeconds(since) {
  return process.cpuUsage(since).user / 1e6;
}

async function measurePeer({ name, build }, count, corpus) {
  const started = performance.now();
  const search = await build(Array.from({ length: count }, (_, i) => corpus.passage(i)));
  const seconds = (performance.now() - started) / 1000;
  const times = [];
  for (const query of corpus.queries(count)) {
    const asked = performance.now();
    await search(query);
    times.push(performance.now() - asked);
  }
  report(name, count, count / seconds, undefined, times, undefined);
}

function report(name, count, rate, ratio, times, cold) {
  const cells = [
    name,
    count,
    rate.toFixed(0),
    ratio?.toFixed(3) ?? "",
    percentile(times, 0.5).toFixed(3),
    percentile(times, 0.99).toFixed(3),
    cold?.toFixed(1) ?? "",
    (process.resourceUsage().maxRSS / 1024).toFixed(0),
  ];
  console.log(`| ${cells.join(" | ")} |`);
}

function percentile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(share * (sorted.length - 1))];
}
