// npm run bench -- tenants
//
// Many small indexes in one location: what creating, opening and first querying one takes of the storage, what it stores, what a
// process holds in memory with many of them open, and what work on all of them takes. COUNT=1000 indexes of ITEMS=10 items of D=384
// numbers, AT_ONCE=8 created at a time, OPEN=1000 of them opened; in memory, or in a new folder FOLDER. Those that are there already
// are kept, so that a run can be continued. Prints Markdown.

import { collectGarbage, createClient, openLocation } from "sealdex/core";
import { Holds } from "../service/holds.mjs";
import { CountingStore } from "./counting-store.mjs";
import { createFolderStore } from "./folder-store.mjs";
import { waitsOf } from "./waits.mjs";

const count = Number(process.env.COUNT ?? 1000);
const atOnce = Number(process.env.AT_ONCE ?? 8);
const openCount = Math.min(count, Number(process.env.OPEN ?? 1000));
const d = Number(process.env.D ?? 384);
const itemCount = Number(process.env.ITEMS ?? 10);
const folder = process.env.FOLDER;
const mebibyte = 2 ** 20;

const vector = () => Array.from({ length: d }, () => Math.random() - 0.5);
const items = Array.from({ length: itemCount }, (_, i) => ({
  id: `${i}`,
  vector: vector(),
  contents: `text ${i}`,
}));
const query = { queryVector: items[0].vector, topK: 5 };
/** The same in every run. */
const indexKey = "7".repeat(64);
const tenant = (n) => ({ indexName: `tenant ${String(n).padStart(7, "0")}`, indexKey });

const inner = folder === undefined ? createFolderStore() : openLocation({ location: "local", path: folder });
const holds = new Holds();

console.log(`${count} indexes of ${itemCount} items of ${d} numbers, in ${folder ?? "memory"}.\n`);
console.log("| | waits | requests | bytes stored | ms |\n|---|---:|---:|---:|---:|");
const waits = await waitsOf(inner, { address: tenant("of the waits"), items, query });
const made = { create: [], upsert: [] };
const counting = new CountingStore(inner);
{
  const writing = createClient({ indexLocation: counting.store, automaticTraining: false });
  const names = new Set(await writing.listIndexes());
  const missing = Array.from({ length: count }, (_, n) => tenant(n)).filter(
    ({ indexName }) => !names.has(indexName),
  );
  // What the first take is counted; the others are made several at a time.
  for (const options of missing.splice(0, 20)) {
    let index;
    made.create.push(await counting.during(async () => (index = await writing.createIndex(options))));
    made.upsert.push(await counting.during(() => index.upsert(items)));
  }
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let next = missing.pop(); next !== undefined; next = missing.pop())
        await (await writing.createIndex(next)).upsert(items);
    }),
  );
  await writing.close();
}
row("create", waits.create, made.create);
row(`store ${itemCount} items`, waits.upsert, made.upsert);

globalThis.gc();
const before = heldBytes();
const client = createClient({ indexLocation: counting.store, automaticTraining: false });
const open = [];
const opened = { open: [], query: [] };
for (let n = 0; n < openCount; n++) {
  opened.open.push(await counting.during(async () => open.push(await client.loadIndex(tenant(n)))));
  opened.query.push(await counting.during(() => open[n].query(query)));
}
row("open", waits.open, opened.open);
row("first query", waits.firstQuery, opened.query);
row("open and first query over HTTP", waits.overHttp, []);
row("warm query", waits.query, [await counting.during(() => open[0].query(query))]);

globalThis.gc();
const { cacheBytes, kernelBytes } = client.memory();
const perOpen = (heldBytes() - before) / open.length;
console.log(
  `\n${open.length} open: ${mib(perOpen * open.length)} MiB of JavaScript, ${(perOpen / 1024).toFixed(0)} KiB each;`,
);
console.log(`cache ${mib(cacheBytes)} MiB, kernels ${mib(kernelBytes)} MiB,`);
console.log(
  `the whole process ${mib(process.memoryUsage().rss - (folder === undefined ? counting.bytes : 0))} MiB without what is stored.\n`,
);
open.length = 0;

console.log("| with all of them | requests | s | event loop held (ms) | busy (ms) | most memory (MiB) |");
console.log("|---|---:|---:|---:|---:|---:|");
await atLarge("list 1,000 names", () =>
  client.listIndexes({ limit: 1000, after: tenant(count / 2).indexName }),
);
await atLarge("list all names", () => client.listIndexes());
await atLarge("collect garbage", () => collectGarbage(client));
await atLarge("delete one", () => client.deleteIndex(tenant(count - 1)));
// Its garbage is collected in the background.
await atLarge("close", () => client.close());
await inner.close();

async function atLarge(name, work) {
  globalThis.gc();
  await new Promise((resolve) => setTimeout(resolve, 50));
  holds.reset();
  const used = () => process.memoryUsage().heapUsed + process.memoryUsage().external;
  const atFirst = used();
  let most = 0;
  const watching = setInterval(() => (most = Math.max(most, used() - atFirst)), 20);
  const { requests, ms } = await counting.during(work);
  clearInterval(watching);
  // The hold that is under way counts, too.
  await new Promise((resolve) => setTimeout(resolve, 10));
  const { held, busy } = holds.read();
  const cells = [name, requests, (ms / 1000).toFixed(1), held.toFixed(0), busy.toFixed(0), mib(most)];
  console.log(`| ${cells.join(" | ")} |`);
}

function row(name, waitCount, measured) {
  const most = (field) => (measured.length === 0 ? "" : Math.max(...measured.map((one) => one[field])));
  const times = measured.map(({ ms }) => ms).sort((a, b) => a - b);
  const middle = times.length === 0 ? "" : times[times.length >> 1].toFixed(1);
  console.log(`| ${name} | ${waitCount} | ${most("requests")} | ${most("bytes")} | ${middle} |`);
}

function mib(bytes) {
  return (bytes / mebibyte).toFixed(0);
}

function heldBytes() {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers - (folder === undefined ? counting.bytes : 0);
}
