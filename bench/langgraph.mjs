// npm run bench -- langgraph [threads] [threads]
//
// The checkpointer for LangGraph on local disk: time of a put by the number of threads (100 and 100,000, each with a checkpoint of
// some 3 KB), of getTuple, and of both in a thread of 500 steps; waits for storage of a put and of getTuple; time of deleteThread. Fails if a
// put waits for storage more than twice.

import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { createClient, generateKey, openLocation } from "sealdex/core";
import { EncryptedSaver } from "sealdex/langgraph";

const [few = 100, many = 100_000] = process.argv.slice(2).map(Number);
const rounds = 300;
const together = 100;
const steps = 500;
const waitsMax = 2;
/** Of a storage in another building. */
const latencyMs = 20;

const configOf = (threadId, checkpointId) => ({
  configurable: { thread_id: threadId, checkpoint_id: checkpointId },
});
let made = 0;

/** A state of ten messages. */
function newCheckpoint() {
  const messages = Array.from({ length: 10 }, (_, i) => ({
    role: "user",
    content: `message ${i} `.repeat(25),
  }));
  return { ...emptyCheckpoint(), id: uuid6(made++ % 16_000), channel_values: { messages } };
}

async function put(saver, threadId, parent) {
  const checkpoint = newCheckpoint();
  await saver.put(configOf(threadId, parent), checkpoint, { source: "loop", step: made, parents: {} }, {});
  return checkpoint.id;
}

async function timed(work) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function percentiles(times) {
  const sorted = times.toSorted((a, b) => a - b);
  return [0.5, 0.95].map((share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(2));
}

async function onThreads(count) {
  const path = mkdtempSync(join(tmpdir(), "sealdex-langgraph-"));
  const args = { indexName: "threads", indexKey: generateKey(), indexLocation: { location: "local", path } };
  const saver = new EncryptedSaver(args);
  try {
    for (let start = 0; start < count; start += together) {
      const some = Array.from({ length: Math.min(together, count - start) }, (_, i) => `thread ${start + i}`);
      await Promise.all(some.map((threadId) => put(saver, threadId)));
    }
    const threadOf = (round) => `thread ${(round * 7919) % count}`;
    const puts = [];
    const gets = [];
    for (let round = 0; round < rounds; round++) {
      const threadId = threadOf(round);
      let tuple;
      gets.push(await timed(async () => (tuple = await saver.getTuple(configOf(threadId)))));
      puts.push(await timed(() => put(saver, threadId, tuple.checkpoint.id)));
    }
    const deletions = [];
    for (let round = 0; round < 10; round++)
      deletions.push(await timed(() => saver.deleteThread(`thread ${round}`)));
    const manifests = readdirSync(path, { recursive: true }).filter((name) => name.includes("manifest/"));
    const manifestBytes = Math.max(...manifests.map((name) => statSync(join(path, name)).size));
    const cells = [...percentiles(puts), ...percentiles(gets), percentiles(deletions)[0], manifestBytes];
    console.log(`| ${[count.toLocaleString("en"), ...cells].join(" | ")} |`);
  } finally {
    await saver.stop();
    rmSync(path, { recursive: true });
  }
}

async function onSteps() {
  const path = mkdtempSync(join(tmpdir(), "sealdex-langgraph-"));
  const args = { indexName: "threads", indexKey: generateKey(), indexLocation: { location: "local", path } };
  const saver = new EncryptedSaver(args);
  try {
    let parent;
    for (let step = 0; step < steps; step++) parent = await put(saver, "long", parent);
    const gets = [];
    for (let round = 0; round < rounds; round++)
      gets.push(await timed(() => saver.getTuple(configOf("long"))));
    const another = new EncryptedSaver(args);
    const cold = await timed(() => another.getTuple(configOf("long")));
    await another.stop();
    console.log(
      `\ngetTuple at ${steps} steps: p50 ${percentiles(gets)[0]} ms; ${cold.toFixed(1)} ms in a new process, opening included`,
    );
  } finally {
    await saver.stop();
    rmSync(path, { recursive: true });
  }
}

/** Waits are calls to storage that do not run beside another: their number is the time over the latency of each. */
async function waits() {
  const client = createClient({ indexLocation: slow(openLocation({ location: "memory" })) });
  const saver = new EncryptedSaver({ indexName: "threads", indexKey: generateKey(), client });
  let parent = await put(saver, "a");
  const counts = { put: [], getTuple: [] };
  for (let round = 0; round < 20; round++) {
    counts.put.push(await timed(async () => (parent = await put(saver, "a", parent))));
    counts.getTuple.push(await timed(() => saver.getTuple(configOf("a"))));
  }
  await client.close();
  const [ofPut, ofGet] = Object.values(counts).map((times) =>
    Math.floor(Number(percentiles(times)[0]) / latencyMs),
  );
  console.log(`waits for storage: put ${ofPut}, getTuple ${ofGet}`);
  if (ofPut > waitsMax)
    throw new Error(`a put waits for storage ${ofPut} times, expected at most ${waitsMax}`);
}

function slow(store) {
  const late =
    (call) =>
    async (...given) => {
      await new Promise((resolve) => setTimeout(resolve, latencyMs));
      return call(...given);
    };
  return {
    read: late((...given) => store.read(...given)),
    create: late((...given) => store.create(...given)),
    list: late((...given) => store.list(...given)),
    delete: late((...given) => store.delete(...given)),
    close: () => store.close(),
  };
}

console.log(`Node ${process.version}, ${cpus()[0].model}\n`);
const head = [
  "threads",
  "put p50 (ms)",
  "p95",
  "getTuple p50 (ms)",
  "p95",
  "deleteThread p50 (ms)",
  "largest manifest (bytes)",
];
console.log(`| ${head.join(" | ")} |\n|${"---:|".repeat(head.length)}`);
for (const count of [few, many]) await onThreads(count);
await onSteps();
await waits();
