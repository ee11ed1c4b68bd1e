// npm run bench:service
//
// How long one request holds the event loop of the service, and what it leaves in memory, for the largest and the most
// hostile requests that there are. The service runs in a process of its own with a heap of 512 MiB. Prints Markdown.

import { fork } from "node:child_process";
import { once } from "node:events";
import { cpus } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { createClient, generateKey } from "sealdex/core";
import { createApp } from "sealdex-server";

const holdMsMax = 50;
const apiKey = "bench".repeat(8);

if (process.argv[2] === "serve") await serve();
else await measureAll();

async function serve() {
  const client = createClient({ indexLocation: { location: "memory" }, automaticTraining: false });
  const app = await createApp({ client, apiKeys: [apiKey], version: "bench" });
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  process.on("message", () => {
    globalThis.gc();
    const { heapUsed, rss } = process.memoryUsage();
    process.send({ heldMs: delays.max / 1e6, heapUsed, rss });
    // The collection itself must not count.
    setTimeout(() => delays.reset(), 20);
  });
  process.on("disconnect", () => process.exit());
  process.send({ baseUrl: await app.listen({ port: 0, host: "127.0.0.1" }) });
}

async function measureAll() {
  const child = fork(fileURLToPath(import.meta.url), ["serve"], {
    execArgv: ["--max-old-space-size=512", "--expose-gc"],
  });
  const [{ baseUrl }] = await once(child, "message");
  const read = async () => {
    const answer = once(child, "message");
    child.send("read");
    const [figures] = await answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return figures;
  };
  const post = async (path, body) => {
    const response = await fetch(`${baseUrl}/v1/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": apiKey },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    let bytes = 0;
    for await (const chunk of response.body) bytes += chunk.length;
    return { status: response.status, bytes };
  };
  const index = { index_name: "bench", index_key: generateKey() };
  const open = JSON.stringify(index).slice(0, -1);
  await post("indexes/create", index);

  console.log(`Requests to a service with a heap of 512 MiB; Node ${process.version}, ${cpus()[0].model}\n`);
  console.log("| request | status | answer (MiB) | time (s) | longest hold (ms) | heap after (MiB) |");
  console.log("|---|---:|---:|---:|---:|---:|");
  await read();
  let longest = 0;
  for (const [name, path, makeBody, times = 1] of requests(index, open)) {
    const body = makeBody();
    await read();
    const started = performance.now();
    const answers = await Promise.all(Array.from({ length: times }, () => post(path, body)));
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const { heldMs, heapUsed } = await read();
    longest = Math.max(longest, heldMs);
    const statuses = [...new Set(answers.map(({ status }) => status))].join(" ");
    const answer = mebibytes(answers[0].bytes);
    console.log(
      `| ${name} | ${statuses} | ${answer} | ${seconds} | ${heldMs.toFixed(0)} | ${mebibytes(heapUsed)} |`,
    );
  }
  console.log(`\nLongest: ${longest.toFixed(0)} ms; the bound is ${holdMsMax} ms.`);
  child.disconnect();
}

function requests(index, open) {
  const vector = (d, i) => Array.from({ length: d }, (_, j) => Math.fround(Math.sin(i * 31 + j)));
  const items = (n, d, more) =>
    Array.from({ length: n }, (_, i) => ({ id: `${i}`, vector: vector(d, i), ...more(i) }));
  const metadata = (bytes) => ({ text: "m".repeat(bytes) });
  const many = (text, n) => text.repeat(n);
  return [
    [
      "upsert of 31 MiB of vectors",
      "vectors/upsert",
      () => ({ ...index, items: items(1900, 768, () => ({})) }),
    ],
    [
      "upsert of 31 MiB of texts",
      "vectors/upsert",
      () => ({ ...index, items: items(31, 768, () => ({ contents: "é".repeat(500_000) })) }),
    ],
    [
      "upsert of 10,000 small items",
      "vectors/upsert",
      () => ({ ...index, items: items(1500, 768, (i) => ({ metadata: { i } })) }),
    ],
    [
      "upsert of metadata that parse to 20 times their size",
      "vectors/upsert",
      () => ({
        ...index,
        items: items(400, 768, () => ({ metadata: { a: Array.from({ length: 20_000 }, () => []) } })),
      }),
    ],
    [
      "millions of query vectors",
      "vectors/query",
      () => `${open},"query_vectors":[${many("[0],", 2_000_000)}[0]]}`,
    ],
    ["the same, 32 MiB", "vectors/upsert", () => `${open},"query_vectors":[${many("[0],", 8_000_000)}[0]]}`],
    [
      "a filter of a million keys",
      "vectors/query",
      () => `${open},"query_vectors":[1],"filters":{${many('"a":0,', 1_200_000)}"b":0}}`,
    ],
    ["brackets in brackets", "vectors/upsert", () => `${open},"items":${many("[", 30_000_000)}`],
    [
      "one id with a large item, 10,000 times",
      "vectors/get",
      () => ({ ...index, ids: Array(10_000).fill("3") }),
    ],
    [
      "1,000 queries, top_k 10,000",
      "vectors/query",
      () => ({
        ...index,
        query_vectors: Array.from({ length: 500 }, (_, i) => vector(768, i)),
        top_k: 10_000,
        include: [],
      }),
    ],
    [
      "200 queries, top_k 200, 60 KB of metadata",
      "vectors/query",
      () => ({ ...index, query_vectors: Array.from({ length: 200 }, (_, i) => vector(768, i)), top_k: 200 }),
    ],
    [
      "one query, top_k 10,000",
      "vectors/query",
      () => ({ ...index, query_vectors: vector(768, 1), top_k: 10_000, include: ["distance"] }),
    ],
    [
      "all of that at once: 40 large gets",
      "vectors/get",
      () => ({ ...index, ids: Array.from({ length: 60 }, (_, i) => `${i}`) }),
      40,
    ],
    [
      "filters of 1 MiB, 40 at once",
      "vectors/query",
      () => ({
        ...index,
        query_vectors: vector(768, 1),
        filters: { a: { $in: Array.from({ length: 10_000 }, (_, i) => `${i}${"x".repeat(90)}`) } },
      }),
      40,
    ],
    ["list of all ids", "vectors/list_ids", () => index],
    ["a text of 1 MiB", "vectors/query", () => ({ ...index, query_contents: many("word ", 200_000) })],
    [
      "metadata of all kinds",
      "vectors/query",
      () => ({
        ...index,
        query_vectors: vector(768, 1),
        top_k: 100,
        filters: { "text.a": { $ne: metadata(10).text } },
      }),
    ],
  ];
}

function mebibytes(bytes) {
  return (bytes / 2 ** 20).toFixed(1);
}
