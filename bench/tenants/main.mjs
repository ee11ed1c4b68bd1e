// npm run bench:tenants
//
// Many small indexes in one location: what creating, opening and first querying one takes of the storage, what it stores, and what a
// service holds in memory with many of them open. COUNT=1000 indexes of ITEMS=10 items of D=384 numbers. Prints Markdown.

import { createClient, generateKey } from "sealdex/core";
import { CountingStore } from "./counting-store.mjs";

const count = Number(process.env.COUNT ?? 1000);
const itemCount = Number(process.env.ITEMS ?? 10);
const d = Number(process.env.D ?? 384);
const mebibyte = 2 ** 20;

const indexKey = generateKey();
const nameOf = (tenant) => `tenant ${String(tenant).padStart(7, "0")}`;
const vector = () => Array.from({ length: d }, () => Math.random() - 0.5);
const items = Array.from({ length: itemCount }, (_, i) => ({
  id: `${i}`,
  vector: vector(),
  contents: `text ${i}`,
}));

const counting = new CountingStore();
console.log(`${count} indexes of ${itemCount} items of ${d} numbers.\n`);
console.log("| | requests | bytes stored | ms |\n|---|---:|---:|---:|");
const writing = createClient({ indexLocation: counting.store, automaticTraining: false });
const made = { create: [], upsert: [] };
for (let tenant = 0; tenant < count; tenant++) {
  const options = { indexName: nameOf(tenant), indexKey };
  made.create.push(await counting.during(async () => void (await writing.createIndex(options))));
  const index = await writing.loadIndex(options);
  made.upsert.push(await counting.during(() => index.upsert(items)));
}
row("create", made.create);
row(`store ${itemCount} items`, made.upsert);
await writing.close();

globalThis.gc();
const before = heldBytes();
const client = createClient({ indexLocation: counting.store, automaticTraining: false });
const open = [];
const opened = [];
for (let tenant = 0; tenant < count; tenant++) {
  const work = async () => {
    const index = await client.loadIndex({ indexName: nameOf(tenant), indexKey });
    await index.query({ queryVector: items[0].vector, topK: 5 });
    open.push(index);
  };
  opened.push(await counting.during(work));
}
row("open and first query", opened);
row("warm query", [await counting.during(() => open[0].query({ queryVector: items[0].vector, topK: 5 }))]);
row("list all names", [await counting.during(() => client.listIndexes())]);

globalThis.gc();
const { cacheBytes, kernelBytes } = client.memory();
const held = heldBytes() - before;
console.log(
  `\n${open.length} open: ${(held / mebibyte).toFixed(0)} MiB of JavaScript, ${(held / open.length / 1024).toFixed(0)} KiB each;`,
);
console.log(
  `cache ${(cacheBytes / mebibyte).toFixed(0)} MiB, kernels ${(kernelBytes / mebibyte).toFixed(0)} MiB,`,
);
console.log(
  `the whole process ${((process.memoryUsage().rss - counting.bytes) / mebibyte).toFixed(0)} MiB without what is stored.`,
);
await client.close();

function row(name, measured) {
  const most = (field) => Math.max(...measured.map((one) => one[field]));
  const times = measured.map(({ ms }) => ms).sort((a, b) => a - b);
  console.log(
    `| ${name} | ${most("requests")} | ${most("bytes")} | ${times[times.length >> 1].toFixed(1)} |`,
  );
}

function heldBytes() {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers - counting.bytes;
}
