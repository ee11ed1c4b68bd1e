// npm run bench -- profile [n]
//
// Where queries spend their time, by their profiles: n x 384 (20,000) with texts on local disk, trained. Medians of 200 queries of each
// kind, after as many to warm up; cold queries are the first ones of a process of their own. The last columns are the time of the same
// queries without a profile, asked in turn.

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, generateKey } from "sealdex/core";
import { syntheticVectors } from "./search/datasets.mjs";

const n = Number(process.argv[2] ?? 20_000);
const [dimension, asked] = [384, 200];
const stages = ["check", "open", "choose", "read", "decrypt", "scan", "fetch"];
const { base, queries } = syntheticVectors(n, dimension, asked);
const vectorAt = (vectors, i) => vectors.subarray(i * dimension, (i + 1) * dimension);
const folder = mkdtempSync(join(tmpdir(), "sealdex-profile-"));
const options = { indexLocation: { location: "local", path: folder }, automaticTraining: false };
const access = { indexName: "bench", indexKey: generateKey() };

const nearest = (i) => ({ queryVector: vectorAt(queries, i), topK: 10, recall: 0.95, include: ["distance"] });
const kinds = {
  "a vector": nearest,
  "a vector, with contents": (i) => ({ ...nearest(i), include: ["contents"] }),
  "a filter": (i) => ({ ...nearest(i), filter: { group: i % 10 } }),
  words: (i) => ({ queryText: `number${i}`, topK: 10 }),
  "words and a vector": (i) => ({ ...nearest(i), queryText: `number${i}` }),
};

try {
  await build();
  console.log(`${n} x ${dimension}; Node ${process.version}, ${cpus()[0].model}\n`);
  const head = ["query by", ...stages.map((stage) => `${stage} (%)`), "profiled (µs)", "without (µs)"];
  console.log(`| ${head.join(" | ")} |\n|---|${"---:|".repeat(head.length - 1)}`);
  for (const [name, queryOf] of Object.entries(kinds)) await report(name, queryOf);
  await reportCold();
} finally {
  rmSync(folder, { recursive: true });
}

async function build() {
  const client = createClient({ ...options, retentionMs: 0 });
  const index = await client.createIndex({ ...access, metric: "cosine", textIndex: true });
  for (let start = 0; start < n; start += 5000) {
    const items = Array.from({ length: Math.min(5000, n - start) }, (_, i) => ({
      id: String(start + i),
      vector: vectorAt(base, start + i),
      contents: `passage number${(start + i) % 997} `.repeat(10),
      metadata: { group: i % 10 },
    }));
    await index.upsert(items);
  }
  await index.train();
  await client.close();
}

async function report(name, queryOf) {
  const client = createClient(options);
  const index = await client.loadIndex(access);
  await index.prefetch();
  const [profiles, plain] = [[], []];
  for (let i = 0; i < 2 * asked; i++) {
    const query = queryOf(i % asked);
    const startedAt = performance.now();
    await index.query(query);
    const ms = performance.now() - startedAt;
    const { profile } = await index.query({ ...query, include: [...(query.include ?? []), "profile"] });
    if (i < asked) continue;
    plain.push(ms);
    profiles.push(profile);
  }
  print(name, profiles, median(plain));
  await client.close();
}

async function reportCold() {
  const profiles = [];
  for (let i = 0; i < 20; i++) {
    const client = createClient(options);
    const index = await client.loadIndex(access);
    const { profile } = await index.query({ ...nearest(i), include: ["contents", "profile"] });
    profiles.push(profile);
    await client.close();
  }
  print("a vector, cold", profiles);
}

function print(name, profiles, plainMs) {
  const shares = stages.map((stage) =>
    (100 * median(profiles.map(({ totalMs, stagesMs }) => stagesMs[stage] / totalMs))).toFixed(1),
  );
  const times = [median(profiles.map(({ totalMs }) => totalMs)), plainMs];
  const cells = times.map((ms) => (ms === undefined ? "" : (1000 * ms).toFixed(0)));
  console.log(`| ${[name, ...shares, ...cells].join(" | ")} |`);
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
