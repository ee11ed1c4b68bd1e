// npm run test:long -- soak-service
//
// A service under half of the load that it can take, for MINUTES=60: queries, upserts, deletions and reads at a fixed rate, a training
// or a compaction every REWRITE_SECONDS=30, an index that is created and deleted every VISIT_SECONDS=5. Prints what it holds in memory
// and what requests took, as Markdown: at the start and after each of PARTS=4. RATE=100 sets the requests per second instead. Fails if
// a request does, unless the service was too busy for it: the machine may have other work. Its data are in a temporary folder, or in
// LOCATION=redis://...

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fill, randomRequest, randomRewrite, visit } from "./requests.mjs";
import { startService } from "./service.mjs";

const minutes = Number(process.env.MINUTES ?? 60);
const parts = Number(process.env.PARTS ?? 4);
const rewriteMs = Number(process.env.REWRITE_SECONDS ?? 30) * 1000;
const visitMs = Number(process.env.VISIT_SECONDS ?? 5) * 1000;
const measuringMs = 20_000;
const callers = 16;
/** Requests under way: a client that is late, too, sends no more. */
const runningMax = 500;
const sampleMs = 1000;
const mebibyte = 2 ** 20;

/** Of this part. */
let times = [];
let longTimes = [];
let heap = Infinity;
let refused = 0;
let unsent = 0;
const failures = new Map();

const folder = await mkdtemp(join(tmpdir(), "sealdex-soak-"));
const service = await startService(process.env.LOCATION ?? `file://${folder}`, 1);
try {
  await fill(send);
  const rate = process.env.RATE === undefined ? (await fullRate()) / 2 : Number(process.env.RATE);
  console.log(`${rate.toFixed(0)} requests per second for ${minutes} minutes.\n`);
  console.log(
    "| minute | requests | failed | refused | not sent | p50 (ms) | p99 (ms) | longest (ms) | rewrites, visits: longest (ms) | least heap (MiB) | cache (MiB) | kernels (MiB) | resident (MiB) |",
  );
  console.log("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
  times = [];
  for (let i = 0; i < 10; i++) await sample();
  await row(0);
  const partMs = (minutes * 60_000) / parts;
  for (let part = 1; part <= parts; part++) {
    await underLoad(rate, partMs);
    await row((part * minutes) / parts);
  }
  for (const [what, count] of failures) console.log(`\n${count} times: ${what}`);
} finally {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
}
process.exitCode = failures.size === 0 ? 0 : 1;

/** Requests per second, if there is always another one. */
async function fullRate() {
  const end = performance.now() + measuringMs;
  let done = 0;
  const call = async () => {
    for (; performance.now() < end; done++) {
      const { path, body } = randomRequest();
      await send(path, body);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return done / (measuringMs / 1000);
}

/** Requests begin when they are due, however long those before them take, and their times count from then. */
async function underLoad(rate, ms) {
  const startedAt = performance.now();
  const running = new Set();
  const begin = (list, dueAt, work) => {
    if (running.size >= runningMax) return void unsent++;
    const timed = async () => {
      await work().catch(fail);
      list.push(performance.now() - dueAt);
    };
    const request = timed().finally(() => running.delete(request));
    running.add(request);
  };
  const timers = [
    setInterval(() => void sample().catch(fail), sampleMs),
    setInterval(() => begin(longTimes, performance.now(), () => visit(send)), visitMs),
    setInterval(() => {
      const { path, body } = randomRewrite();
      begin(longTimes, performance.now(), () => send(path, body));
    }, rewriteMs),
  ];
  let begun = 0;
  for (let now = startedAt; now < startedAt + ms; now = performance.now()) {
    for (; begun < ((now - startedAt) / 1000) * rate; begun++) {
      const { path, body } = randomRequest();
      begin(times, startedAt + (begun / rate) * 1000, () => send(path, body));
    }
    await new Promise((resolve) => setTimeout(resolve, 1000 / rate));
  }
  for (const timer of timers) clearInterval(timer);
  await Promise.all(running);
}

function fail({ message }) {
  failures.set(message, (failures.get(message) ?? 0) + 1);
}

async function send(path, body) {
  const response = await fetch(service.baseUrl + path, {
    method: "POST",
    headers: { "X-API-Key": service.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status === 503) refused++;
  else if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
}

/** What the metrics of the service say, by name. The least heap of many samples is one after a collection of garbage. */
async function sample() {
  const headers = { "X-API-Key": service.apiKey };
  const response = await fetch(`${service.baseUrl}/metrics`, { headers });
  const text = await response.text();
  if (!response.ok) {
    await new Promise((resolve) => setTimeout(resolve, sampleMs));
    return sample();
  }
  const valueOf = (name) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  heap = Math.min(heap, valueOf("nodejs_heap_size_used_bytes"));
  return valueOf;
}

async function row(minute) {
  const valueOf = await sample();
  const sorted = times.sort((a, b) => a - b);
  const failed = [...failures.values()].reduce((sum, count) => sum + count, 0);
  const mib = (bytes) => (bytes / mebibyte).toFixed(1);
  const ms = (value = 0) => value.toFixed(1);
  const cells = [
    minute,
    sorted.length,
    failed,
    refused,
    unsent,
    ms(percentile(sorted, 0.5)),
    ms(percentile(sorted, 0.99)),
    ms(sorted.at(-1)),
    ms(Math.max(0, ...longTimes)),
    mib(heap),
    mib(valueOf("sealdex_cache_bytes")),
    mib(valueOf("sealdex_kernel_bytes")),
    mib(valueOf("process_resident_memory_bytes")),
  ];
  console.log(`| ${cells.join(" | ")} |`);
  [times, longTimes, heap, refused, unsent] = [[], [], Infinity, 0, 0];
}

/** `sorted`: ascending. `share`: 0.99 for p99. */
function percentile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
