// `npm run bench -- NAME` and `npm run test:long -- NAME`, with further arguments for the program. Without a name, prints the list; with
// `--help`, what the head of a benchmark's file says.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** A benchmark: its file, and flags for Node.js. */
const bench = (about, file, ...flags) => ({ about, program: [...flags, join("bench", file)] });

/** A test in full: `rounds` are for variables that the environment does not set. */
const long = (about, suites, rounds, { tier = "", args = [] } = {}) => ({
  about,
  program: [
    join("node_modules", "vitest", "vitest.mjs"),
    "run",
    "--config",
    join("test", "config", "vitest.config.ts"),
    ...args,
    ...suites.map((suite) => join("test", suite)),
  ],
  variables: { ...rounds, SEALDEX_TIER: tier },
});

const endless = ["--testTimeout=0"];

const lists = {
  bench: {
    ingest: bench("storing and training: time, memory, bytes", "ingest.mjs"),
    search: bench("recall and time of queries, next to other engines", "search/main.mjs"),
    chart: bench(
      "draws the charts of docs/pictures from the tables in bench/README.md",
      "search/chart-of-results.mjs",
    ),
    recall: bench("recall of automatic probing", "search/recall.mjs"),
    batches: bench("queries in batches, next to queries one at a time", "search/batches.mjs"),
    cold: bench("requests to storage when not everything is in memory", "cold/main.mjs"),
    service: bench("requests over HTTP, and how long they hold the event loop", "service/main.mjs"),
    hybrid: bench("nDCG of words and vectors together", "hybrid/main.mjs"),
    embeddings: bench("the built-in models", "embeddings.mjs"),
    grow: bench("an index that grows in small writes", "grow.mjs"),
    filters: bench("queries with filters", "filters.mjs"),
    kernels: bench("the WebAssembly kernels", "kernels.mjs"),
    encryption: bench("what encryption costs", "encryption/main.mjs"),
    types: bench("index types and precisions side by side", "search/index-types.mjs"),
    declared: bench("measured recall beside the declared one", "search/declared.mjs"),
    words: bench("queries by words", "words.mjs"),
    langgraph: bench("the checkpointer for LangGraph, by the number of threads", "langgraph.mjs"),
    keys: bench("changing the key of an index, and erasing", "keys.mjs"),
    oblivious: bench("what oblivious reads cost", "oblivious.mjs"),
    collection: bench("collections beside indexes, in one process", "collection.mjs"),
    leaves: bench("routers and leaves beside one process", "leaves.mjs"),
    profile: bench("the stages in which queries spend their time", "profile.mjs"),
  },
  "test:long": {
    simulate: long("histories of many processes over a failing store", ["protocol/simulation"], {
      SEALDEX_SEEDS: 2000,
    }),
    crash: long(
      "every call to every store gone wrong",
      ["protocol/crash"],
      { SEALDEX_CRASH_STRIDE: 1 },
      { tier: "all" },
    ),
    kill: long(
      "200 writing processes are killed",
      ["protocol/kill"],
      { SEALDEX_KILLS: 200 },
      { tier: "all" },
    ),
    split: long(
      "shards are split at every moment of a change; processes that split or create are killed at every call",
      ["collection/split", "collection/remains"],
      { SEALDEX_SPLIT_STRIDE: 1, SEALDEX_REMAINS_STRIDE: 1 },
      { tier: "all" },
    ),
    processes: long(
      "8 processes write to every store",
      ["protocol/processes"],
      { SEALDEX_BATCHES: 500 },
      { tier: "all" },
    ),
    fuzz: long(
      "random filters, calls, requests and damaged indexes, in a heap of 512 MiB",
      ["random"],
      {
        NODE_OPTIONS: "--max-old-space-size=512",
        SEALDEX_FUZZ_FILTERS: 1_000_000,
        SEALDEX_FUZZ_CALLS: 1_000_000,
        SEALDEX_FUZZ_REQUESTS: 100_000,
        SEALDEX_FUZZ_STATES: 100_000,
      },
      { args: endless },
    ),
    tamper: long(
      "attacks on what is stored",
      ["security/attacker", "security/blocks", "security/classified"],
      {
        SEALDEX_TAMPER: 125_000,
        SEALDEX_BLOCKS: 10_000,
        SEALDEX_CLASSIFIED: 10_000,
      },
    ),
    keys: long("schedules of wraps, rotations and erasures", ["keys/schedules"], {
      SEALDEX_SCHEDULES: 10_000,
    }),
    namespaces: long("storage calls among 1,000 namespaces", ["behavior/namespace-erasure"], {
      SEALDEX_NAMESPACES: 1000,
    }),
    recall: long(
      "recall of larger indexes, and vectors at the borders of float32 in all dimensions",
      ["behavior/declared-recall", "behavior/recall", "behavior/numeric-borders"],
      { SEALDEX_RECALL_ROWS: 24_000, SEALDEX_BORDER_DIMENSIONS: 6 },
      { tier: "all" },
    ),
    histories: long(
      "random histories of an index beside a plain model",
      ["behavior/model-based", "behavior/second-lists"],
      { SEALDEX_HISTORIES: 60, SEALDEX_SECOND_LISTS: 20 },
    ),
    replacing: long(
      "documents that are replaced while others read",
      ["behavior/replacing"],
      { SEALDEX_SCHEDULES: 10_000 },
      { args: endless },
    ),
    codes: long("codes of every word length", ["engine/coded"], { SEALDEX_WORD_LENGTHS: 16 }),
    soak: long("memory after many writes and reads", ["operations/soak"], { SEALDEX_SOAK: 100_000 }),
    "soak-service": {
      about: "a service under load for an hour",
      program: [join("bench", "soak", "main.mjs")],
    },
    clients: long("published clients; writes the table of docs/clients.md", ["http/published-clients"], {
      SEALDEX_WRITE_CLIENTS: 1,
    }),
  },
};

const [kind, name = "", ...args] = process.argv.slice(2);
const list = lists[kind];
if (!Object.hasOwn(list, name)) {
  if (name !== "") console.log(`There is no ${name}.`);
  console.log(`npm run ${kind} -- NAME`);
  for (const [known, { about }] of Object.entries(list)) console.log(`  ${known.padEnd(14)}${about}`);
  process.exit(name === "" ? 0 : 1);
}
const { program, variables = {} } = list[name];
if (kind === "bench" && args.includes("--help")) {
  const lines = readFileSync(join(root, program.at(-1)), "utf8").split("\n");
  const head = lines.slice(
    0,
    lines.findIndex((line) => !line.startsWith("//")),
  );
  console.log(head.map((line) => line.slice(3)).join("\n"));
  process.exit();
}
const env = { ...variables, ...process.env };
if (variables.SEALDEX_TIER !== undefined) env.SEALDEX_TIER = variables.SEALDEX_TIER;
const steps = [[join("scripts", "build.mjs")], [...program, ...args]];
for (const step of steps) {
  const { status } = spawnSync(process.execPath, step, {
    cwd: root,
    env: step === steps[0] ? process.env : env,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}
