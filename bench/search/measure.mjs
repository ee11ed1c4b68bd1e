// Measures one engine on one data set, in a process of its own; prints a JSON line for each setting.
// node measure.mjs ENGINE DATASET

import { loadDataset } from "./datasets.mjs";
import { engines } from "./engines.mjs";
import { hitsAmong, neighbours } from "./exact.mjs";

const [name, dataset] = process.argv.slice(2);
const runs = 3;
/** Queries before the first setting, so that it does not pay for what the runtime compiles. */
const warmingQueries = 2000;
/** Queries of one run take about this long at most. */
const runSeconds = 4;

const data = loadDataset(dataset);
const hits = hitsAmong(data, neighbours);
const before = process.memoryUsage().rss;
const engine = await engines[name](data);
const started = performance.now();
const cpuBefore = process.cpuUsage();
await engine.build();
const elapsed = performance.now() - started;
const { user, system } = process.cpuUsage(cpuBefore);
const buildCpuSeconds = (user + system) / 1e6 / (engine.buildsPerSetting ?? 1);
const buildSeconds = elapsed / 1000 / (engine.buildsPerSetting ?? 1);

await engine.warm?.();
const queryAt = (i) => data.queries.subarray(i * data.dimension, (i + 1) * data.dimension);
const warmUntil = performance.now() + runSeconds * 1000;
for (let i = 0; i < warmingQueries && performance.now() < warmUntil; i++) {
  await engine.query(queryAt(i % data.truth.length), engine.settings[0]);
}
for (const setting of engine.settings) {
  const warm = performance.now();
  for (let i = 0; i < Math.min(50, data.truth.length); i++) await engine.query(queryAt(i), setting);
  const each = (performance.now() - warm) / 1000 / Math.min(50, data.truth.length);
  const count = Math.min(data.truth.length, Math.max(10, Math.floor(runSeconds / each)));
  const rates = [];
  let times = [];
  let found = 0;
  for (let run = 0; run < runs; run++) {
    found = 0;
    let spent = 0;
    for (let i = 0; i < count; i++) {
      const asked = performance.now();
      const rows = await engine.query(queryAt(i), setting);
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
    n: data.base.length / data.dimension,
    dimension: data.dimension,
    setting: setting.declared ?? (Object.values(setting).join() || "-"),
    recall: found / (neighbours * count),
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
await engine.close();
