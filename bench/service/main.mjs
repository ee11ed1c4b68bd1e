// npm run bench -- service [text that the names of requests begin with]
//
// How long one request holds the event loop of the service, and what it leaves in memory, for the largest and the most
// hostile requests that there are. The service runs in a process of its own with a heap of HEAP_MIB, 512 by default; the longest
// body is a quarter of it. Prints Markdown.

import { fork } from "node:child_process";
import { once } from "node:events";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { generateKey } from "sealdex/core";
import { heapMiB, indexes } from "./data.mjs";
import { requests } from "./requests.mjs";

const holdMsMax = 50;
/** Noise lengthens a hold and never shortens it, so the shortest of these is the request's own. */
const repeats = Number(process.env.REPEATS ?? 3);
const idleMs = 2000;
const mebibyte = 2 ** 20;

const apiKey = generateKey();
const child = fork(fileURLToPath(new URL("process.mjs", import.meta.url)), [apiKey], {
  execArgv: [`--max-old-space-size=${heapMiB}`, "--expose-gc"],
});
const [baseUrl] = await once(child, "message");

for (const { create, items } of indexes) {
  await send("/v1/indexes/create", create);
  const { index_name, index_key } = create;
  for (const part of items) await send("/v1/vectors/upsert", { index_name, index_key, items: part });
}

console.log(
  `Requests to a service with a heap of ${heapMiB} MiB; Node ${process.version}, ${cpus()[0].model}.`,
);
console.log(
  `Held: how long the event loop was held, the shortest and the longest of ${repeats} measurements;`,
);
console.log("of that busy: without waiting for a processor, the shortest.\n");
console.log(
  "| request | MiB | at once | status | answer (MiB) | s | held (ms) | busy (ms) | GC pause (ms) | heap (MiB) |",
);
console.log("|---|---:|---:|---|---:|---:|---:|---:|---:|---:|");
let longest = 0;
await measure({ name: "none, for comparison", path: "", body: "", status: "" }, () => wait(idleMs));
for (const request of requests) {
  if (!request.name.startsWith(process.argv[2] ?? "")) continue;
  const { path, body, atOnce = 1, leaveAfterMs } = request;
  // Large ones are made when they are sent, not all at the beginning.
  const content = typeof body === "function" ? body() : body;
  const text = typeof content === "string" ? content : JSON.stringify(content);
  await measure({ ...request, body: text }, () =>
    Promise.all(Array.from({ length: atOnce }, () => send(path, text, leaveAfterMs))),
  );
}
console.log(`\nLongest: ${longest.toFixed(0)} ms; the bound is ${holdMsMax} ms.`);
child.disconnect();

async function measure({ name, body, atOnce = 1, status }, work) {
  const rounds = [];
  for (let i = 0; i < repeats; i++) {
    await ask("begin");
    const startedAt = performance.now();
    const answers = (await work()) ?? [];
    const seconds = (performance.now() - startedAt) / 1000;
    rounds.push({ seconds, answers, ...(await ask("end")) });
  }
  const shortest = (field) => Math.min(...rounds.map((round) => round[field]));
  const statuses = [...new Set(rounds.flatMap(({ answers }) => answers.map((answer) => answer.status)))];
  if (!statuses.every((received) => received === status)) {
    console.error(`${name}: expected ${status}, got ${statuses}`);
    process.exitCode = 1;
  }
  const held = shortest("held");
  longest = Math.max(longest, held);
  const heldMost = Math.max(...rounds.map((round) => round.held));
  const [{ answers }] = rounds;
  const cells = [
    name,
    (Buffer.byteLength(body) / mebibyte).toFixed(1),
    atOnce,
    status,
    ((answers[0]?.bytes ?? 0) / mebibyte).toFixed(1),
    shortest("seconds").toFixed(1),
    `${held.toFixed(0)} to ${heldMost.toFixed(0)}`,
    shortest("busy").toFixed(0),
    shortest("pause").toFixed(0),
    (rounds[repeats - 1].heapBytes / mebibyte).toFixed(1),
  ];
  console.log(`| ${cells.join(" | ")} |`);
}

async function ask(message) {
  const answer = once(child, "message");
  child.send(message);
  return (await answer)[0];
}

/** `leaveAfterMs`: after which the client gives up; its answer counts as status "left". */
async function send(path, body, leaveAfterMs) {
  const method = body === "" ? "GET" : "POST";
  const headers = { "X-API-Key": apiKey, ...(body !== "" && { "Content-Type": "application/json" }) };
  const signal = leaveAfterMs === undefined ? undefined : AbortSignal.timeout(leaveAfterMs);
  const text = body === "" ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  try {
    const response = await fetch(baseUrl + path, { method, headers, body: text, signal });
    let bytes = 0;
    for await (const chunk of response.body) bytes += chunk.length;
    return { status: response.status, bytes };
  } catch (error) {
    if (signal?.aborted) return { status: "left", bytes: 0 };
    throw error;
  }
}

function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
