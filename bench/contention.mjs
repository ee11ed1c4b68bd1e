// npm run bench -- contention [rows] [writers] [items per second]
//
// How long compact, train and a filter delete take alone, and while other processes write single items to the same index
// (default: 140,000 x 64, four processes of 50 items per second each, half of them new and half replacing others). Prints the
// ratio of the two times, and how long the writes of these processes took. Afterwards every acknowledged write must be there.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, generateKey } from "sealdex/core";

const dimension = 64;
const indexName = "contention";

if (process.env.SEALDEX_BENCH_WRITER) await write(JSON.parse(process.env.SEALDEX_BENCH_WRITER));
else await main();

async function main() {
  const [rows = 140_000, writers = 4, rate = 50] = process.argv.slice(2).map(Number);
  console.log(
    `${rows} x ${dimension}, ${writers} processes that write ${rate} items per second each, local disk\n`,
  );
  console.log("| operation | alone (s) | disturbed (s) | ratio | writes/s | slowest write (ms) |");
  console.log("|---|---:|---:|---:|---:|---:|");
  const operations = {
    compact: (index) => index.compact(),
    train: (index) => index.train(),
    "filter delete": (index) => index.delete({ filter: { group: 0 } }),
  };
  for (const [name, operation] of Object.entries(operations)) {
    const alone = await measure(rows, 0, rate, operation);
    const disturbed = await measure(rows, writers, rate, operation);
    const ratio = typeof disturbed.seconds === "number" ? (disturbed.seconds / alone.seconds).toFixed(2) : "";
    const seconds = typeof disturbed.seconds === "number" ? disturbed.seconds.toFixed(2) : disturbed.seconds;
    const cells = [name, alone.seconds.toFixed(2), seconds, ratio];
    console.log(`| ${[...cells, disturbed.rate.toFixed(0), disturbed.slowest.toFixed(0)].join(" | ")} |`);
  }
}

async function measure(rows, writers, rate, operation) {
  const path = mkdtempSync(join(tmpdir(), "sealdex-contention-"));
  const location = { location: "local", path };
  const indexKey = generateKey();
  const client = createClient({ indexLocation: location, automaticTraining: false });
  const index = await client.createIndex({ indexName, indexKey });
  for (let first = 0; first < rows; first += 5000) {
    await index.upsert(
      Array.from({ length: Math.min(5000, rows - first) }, (_, i) => item(first + i, "base")),
    );
  }
  const children = Array.from({ length: writers }, (_, w) =>
    startWriter({ location, indexKey, w, rate, rows }),
  );
  await Promise.all(children.map((child) => child.writing));
  const before = children.map((child) => child.count());
  const began = performance.now();
  let seconds;
  try {
    const limit = new Promise((_, reject) => setTimeout(reject, 60_000, new Error("not in 60 s")).unref());
    await Promise.race([operation(index), limit]);
    seconds = (performance.now() - began) / 1000;
  } catch (error) {
    seconds = `${error.message.slice(0, 60)} (${((performance.now() - began) / 1000).toFixed(1)} s)`;
  }
  const elapsed = (performance.now() - began) / 1000;
  const written = children.reduce((sum, child, i) => sum + child.count() - before[i], 0);
  const reports = await Promise.all(children.map((child) => child.end()));
  const expected = new Map(reports.flatMap(({ items }) => items));
  const ids = [...expected.keys()];
  for (let first = 0; first < ids.length; first += 1000) {
    const some = ids.slice(first, first + 1000);
    const found = new Map((await index.get(some)).map(({ id, metadata }) => [id, metadata.stamp]));
    for (const id of some) {
      // Replaced and then deleted by the filter is right; an older version never is.
      const isOlder = found.has(id) && found.get(id) !== expected.get(id);
      if (isOlder || (!found.has(id) && !id.startsWith("base"))) throw new Error(`${id}: a write was lost`);
    }
  }
  await client.close();
  rmSync(path, { recursive: true });
  const slowest = reports.reduce((most, report) => Math.max(most, report.slowest), 0);
  return { seconds, rate: written / elapsed, slowest };
}

function startWriter(options) {
  const env = { ...process.env, SEALDEX_BENCH_WRITER: JSON.stringify(options) };
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  let count = 0;
  let text = "";
  const { promise, resolve } = withResolvers();
  child.stdout.setEncoding("utf8").on("data", (data) => {
    text += data;
    count += data.split(".").length - 1;
    if (count > 0) resolve();
  });
  return {
    writing: promise,
    count: () => count,
    async end() {
      child.stdin.end();
      await once(child, "close");
      return JSON.parse(text.slice(text.indexOf("{")));
    },
  };
}

function withResolvers() {
  let resolve;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}

/** One writer, until its standard input ends: a dot per write, then what it wrote and its slowest write in milliseconds. */
async function write({ location, indexKey, w, rate, rows }) {
  const client = createClient({ indexLocation: location, automaticTraining: false });
  const index = await client.loadIndex({ indexName, indexKey });
  const ended = new AbortController();
  process.stdin.on("end", () => ended.abort()).resume();
  const items = new Map();
  let slowest = 0;
  const startedAt = performance.now();
  for (let n = 0; !ended.signal.aborted; n++) {
    const wait = startedAt + (n * 1000) / rate - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const stamp = `${w}-${n}`;
    const one =
      n % 2 === 0 ? item(w * 1e6 + rows + n, stamp, `new-${stamp}`) : item((4 * n + w) % rows, stamp);
    const began = performance.now();
    await index.upsert([one]);
    slowest = Math.max(slowest, performance.now() - began);
    items.set(one.id, stamp);
    process.stdout.write(".");
  }
  await client.close();
  process.stdout.write(JSON.stringify({ items: [...items], slowest }));
}

function item(number, stamp, id = `base-${number}`) {
  let state = number + 1;
  const vector = Array.from({ length: dimension }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
  return { id, vector, metadata: { group: stamp === "base" ? number % 4 : 9, stamp } };
}
