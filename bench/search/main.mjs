// npm run bench:search -- [--full] [--data-set NAME …] [--engine NAME …]
//
// Sealdex beside the in-process libraries that a Node user would pick instead: recall@10 against queries a second, one
// thread, warm. Install what is to be compared first: `npm install --prefix bench`. Prints Markdown.

import { execFileSync } from "node:child_process";
import { cpus, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { availableDatasets } from "./datasets.mjs";
import { engines } from "./engines.mjs";

const { values } = parseArgs({
  options: {
    full: { type: "boolean", default: false },
    "data-set": { type: "string", multiple: true },
    engine: { type: "string", multiple: true, default: Object.keys(engines) },
  },
});
const datasets =
  values["data-set"] ?? (values.full ? [...availableDatasets(), "synthetic-1000000"] : ["synthetic-10000"]);
const program = join(dirname(fileURLToPath(import.meta.url)), "measure.mjs");

console.log(
  `Node ${process.version}, ${cpus()[0].model}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
);
for (const dataset of datasets) {
  console.log(`\n## ${dataset}\n`);
  console.log(
    "| engine | setting | recall@10 | queries/s | p50 (µs) | p99 (µs) | build (s) | disk (MiB) | RSS (MiB) |",
  );
  console.log("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
  const results = [];
  for (const engine of values.engine) {
    for (const line of measure(engine, dataset)) {
      results.push(line);
      const cells = [
        line.setting,
        line.recall.toFixed(4),
        line.queriesPerSecond.toFixed(0),
        line.p50.toFixed(0),
      ];
      const sizes = [line.diskBytes, line.rssBytes].map((bytes) => (bytes / 2 ** 20).toFixed(0));
      console.log(
        `| ${[engine, ...cells, line.p99.toFixed(0), line.buildSeconds.toFixed(1), ...sizes].join(" | ")} |`,
      );
    }
  }
  for (const target of [0.95, 0.99]) compare(results, target);
}

function measure(engine, dataset) {
  try {
    const output = execFileSync(process.execPath, [program, engine, dataset], {
      encoding: "utf8",
      maxBuffer: 1e8,
    });
    return output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  } catch (error) {
    const [reason] = String(error.stderr ?? error)
      .split("\n")
      .filter((line) => /Error/.test(line));
    console.log(`| ${engine} | not measured: ${reason ?? error.message} |`);
    return [];
  }
}

/** The fastest setting of each engine that reaches the recall, and Sealdex's ratio to the best of the others. */
function compare(results, target) {
  const best = new Map();
  for (const line of results) {
    if (line.recall < target) continue;
    if (line.queriesPerSecond > (best.get(line.engine) ?? 0)) best.set(line.engine, line.queriesPerSecond);
  }
  const ours = [...best].find(([engine]) => engine.startsWith("sealdex"));
  const others = [...best].filter(([engine]) => !engine.startsWith("sealdex")).sort((a, b) => b[1] - a[1]);
  if (ours === undefined || others.length === 0) return;
  const [peer, rate] = others[0];
  console.log(
    `\nAt recall@10 >= ${target}: ${(ours[1] / rate).toFixed(1)} times the queries of ${peer}, the best of the others.`,
  );
}
