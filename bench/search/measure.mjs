// Measures one engine on one data set, in a process of its own; prints a JSON line for each setting.
// node measure.mjs ENGINE DATASET K …

import { loadDataset } from "./datasets.mjs";
import { engines } from "./engines.mjs";
import { hitsAmong } from "./exact.mjs";

const [name, dataset, ...counts] = process.argv.slice(2);
const runs = 3;
/** Queries before the first setting, so that it does not pay for what the runtime compiles. */
const warmingQueries = 2000;
/** Queries of one run take about this long at most. */
const runSeconds = 4;

const data = loadDataset(dataset);
const before = process.memoryUsage().rss;
const engine = await engines[name](data);
const started = performance.now();
const cpuBefore = process.cpuUsage();
await engine.build();
const elapsed = performance.now() - started;
const { user, system } = process.cpuUsage(cpuBefore);
const buildCpuSeconds = (user + system) / 1e6;
const buildSeconds = elapsed / 1000;

await engine.warm?.();
const queryAt = (i) => data.queries.subarray(i * data.dimension, (i + 1) * data.dimension);
for (const k of counts.map(Number)) await measure(k);
await engine.close();

async function measure(k) {
  const hits = hitsAmong(data, k);
  const settings = engine.settings(k);
  const warmUntil = performance.now() + runSeconds * 1000;
  for (let i = 0; i < warmingQueries && performance.now() < warmUntil; i++) {
    await engine.query(queryAt(i % data.truth.length), settings[0], k);
  }
  for (const setting of settings) {
    const warm = performance.now();
    const warming = Math.min(50, data.truth.length);
    for (let i = 0; i < warming; i++) await engine.query(queryAt(i), setting, k);
    const each = (performance.now() - warm) / 1000 / warming;
    const count = Math.min(data.truth.length, Math.max(10, Math.floor(runSeconds / each)));
    const rates = [];
    let times = [];
    let found = 0;
    for (let run = 0; run < runs; run++) {
      found = 0;
      let spent = 0;
      for (let i = 0; i < count; i++) {
        const asked = performance.now();
        const rows = await engine.query(queryAt(i), setting, k);
        const time = performance.now() - asked;
        spent += time;
        times.push(time * 1000);
        found += hits(i, rows);
      }
      rates.push((count * 1000) / spent);
    }
    times = times.sort((a, b) => a - b);
    const line = {
      engine: name,
      k,
      n: data.base.length / data.dimension,
      dimension: data.dimension,
      setting: setting.declared ?? (Object.values(setting).join() || "-"),
      recall: found / (k * count),
      queriesPerSecond: rates.sort((a, b) => a - b)[Math.floor(runs / 2)],
      p50: times[Math.floor(times.length / 2)],
      p99: times[Math.floor(times.length * 0.99)],
      buildSeconds,
      buildCpuSeconds,
      diskBytes: engine.diskBytes(),
      rssBytes: process.memoryUsage().rss - before,
    };
    console.log(JSON.stringify(line));
  }
}
