// npm run bench -- search [--full] [--data-set NAME … | --base FILE --queries FILE [--metric M]] [--engine NAME …] [--k N …] [--rounds N] [--out FOLDER]
//
// Sealdex beside the in-process libraries that a Node user would pick instead, and native ones: recall against queries per second, one
// thread, warm. Prints Markdown, and writes charts to FOLDER. README.md says how to install what is compared.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chosenDatasets, datasetOptions, loadDataset, storedDatasets } from "./datasets.mjs";
import { engines, nativeEngines, packages } from "./engines.mjs";
import {
  comparison,
  growthChart,
  growthTable,
  heading,
  recallChart,
  tableRow,
  timesTable,
} from "./report.mjs";

const { values } = parseArgs({
  options: {
    full: { type: "boolean", default: false },
    ...datasetOptions,
    engine: { type: "string", multiple: true, default: [...Object.keys(engines), ...nativeEngines] },
    k: { type: "string", multiple: true, default: ["10"] },
    rounds: { type: "string", default: "1" },
    out: { type: "string" },
  },
});
const every = [...storedDatasets(), "synthetic-10000", "synthetic-100000", "synthetic-1000000"];
const datasets = chosenDatasets(values, values.full ? every : every.slice(0, 1));
const programs = ["measure.mjs", "native.mjs"].map((name) => fileURLToPath(new URL(name, import.meta.url)));
/** Pools of threads that libraries would start by themselves. */
const oneThread = {
  LANCE_CPU_THREADS: "1",
  OMP_NUM_THREADS: "1",
  RAYON_NUM_THREADS: "1",
  TOKIO_WORKER_THREADS: "1",
};

const written = [];
const print = (text) => {
  console.log(text);
  written.push(text);
};

const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
print(`Node ${process.version}, ${cpus()[0].model}, ${cpus().length} cores, ${memory}  `);
print(packages.map((name) => `${name} ${installed(name)}`).join(", "));
const engineNames = values.engine.filter(
  (name) => process.env.SEALDEX_BENCH_PYTHON !== undefined || !nativeEngines.includes(name),
);
if (engineNames.length < values.engine.length) {
  print("\nNative libraries are skipped: SEALDEX_BENCH_PYTHON names no Python that has them.");
}
const growth = [];
for (const dataset of datasets) {
  // Once, before the engines: a wrong file is reported here, and exact neighbors are cached.
  loadDataset(dataset);
  const rounds = Array.from({ length: Number(values.rounds) }, () =>
    engineNames.flatMap((engine) => measure(engine, dataset)),
  );
  const lines = medians(rounds);
  if (lines.length === 0) continue;
  const [{ n, dimension }] = lines;
  print(`\n## ${dataset}: n = ${n}, d = ${dimension}`);
  for (const k of values.k.map(Number)) {
    const ofK = lines.filter((line) => line.k === k);
    print(`\n${heading(k)}`);
    for (const line of ofK) print(tableRow(line));
    print(`\n${comparison(ofK, k)}\n\n${timesTable(ofK, k)}`);
    write(`${dataset}-${k}.svg`, recallChart(dataset, ofK, k));
  }
  if (dataset.startsWith("synthetic-")) growth.push([n, lines.filter(({ k }) => k === lines[0].k)]);
}
if (growth.length > 1) {
  growth.sort((a, b) => a[0] - b[0]);
  print(`\n## Median time of one query at recall@${values.k[0]} >= 0.95\n\n${growthTable(growth)}`);
  write("growth.svg", growthChart(growth));
}
write("results.md", `${written.join("\n")}\n`);

function write(name, contents) {
  if (values.out === undefined) return;
  mkdirSync(values.out, { recursive: true });
  writeFileSync(join(values.out, name), contents);
}

function installed(name) {
  try {
    const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
    return JSON.parse(readFileSync(file, "utf8")).version;
  } catch {
    return "not installed";
  }
}

function measure(engine, dataset) {
  console.error(`${dataset}: ${engine} …`);
  try {
    const program = programs[nativeEngines.includes(engine) ? 1 : 0];
    const output = execFileSync(process.execPath, [program, engine, dataset, ...values.k], {
      encoding: "utf8",
      env: { ...process.env, ...oneThread },
      maxBuffer: 1e8,
      stdio: ["ignore", "pipe", "pipe"],
    });
    return output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  } catch (error) {
    const lines = String(error.stderr ?? error).split("\n");
    const [reason] = lines.filter((line) => /error/i.test(line));
    const absent = /ERR_MODULE_NOT_FOUND|Cannot find|ModuleNotFoundError/.test(reason);
    const why = reason ?? `it ended with ${error.signal ?? error.status}`;
    print(absent ? `\n${engine} is not installed: skipped.` : `\n${engine} was not measured: ${why}`);
    return [];
  }
}

/** Each number the median of the rounds'; engines take turns within a round, so that what else runs hits all alike. */
function medians(rounds) {
  const keyOf = ({ engine, k, setting }) => `${engine} ${k} ${setting}`;
  const groups = new Map();
  for (const line of rounds.flat()) groups.set(keyOf(line), [...(groups.get(keyOf(line)) ?? []), line]);
  return [...groups.values()].map((group) => {
    const middle = (name) =>
      group.map((line) => line[name]).sort((a, b) => a - b)[Math.floor(group.length / 2)];
    const numbers = Object.keys(group[0]).filter((name) => typeof group[0][name] === "number");
    return { ...group[0], ...Object.fromEntries(numbers.map((name) => [name, middle(name)])) };
  });
}
