/** Small writes and reads over HTTP without end: the service holds no more memory after many than after few. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { repeats } from "../tier.js";

/** Until then, code is compiled, and first versions of everything are opened. */
const warmUp = 300;
const pairs = repeats("SEALDEX_SOAK", { fast: 300, all: 1000 });
const growthMax = 10_000_000;
const items = 100;

const apiKey = generateKey();
const index = { index_name: "soak", index_key: generateKey() };
let service: ChildProcess;
let baseUrl: string;
beforeAll(async () => {
  const script = fileURLToPath(new URL("soak-service.mjs", import.meta.url));
  service = fork(script, [apiKey], { execArgv: ["--expose-gc"] });
  [baseUrl] = (await once(service, "message")) as [string];
});
afterAll(() => service.disconnect());

async function heldBytes(): Promise<number> {
  const answer = once(service, "message");
  service.send("read");
  return ((await answer) as [number])[0];
}

async function post(path: string, body: object, signal?: AbortSignal): Promise<number> {
  const response = await fetch(`${baseUrl}/v1/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-API-Key": apiKey },
    body: JSON.stringify({ ...index, ...body }),
    ...(signal && { signal }),
  });
  await response.arrayBuffer();
  return response.status;
}

const vector = (round: number) => Array.from({ length: 16 }, (_, i) => Math.sin(round * 31 + i));
const id = (round: number) => `item ${round % items}`;

async function pair(round: number): Promise<void> {
  const item = { id: id(round), vector: vector(round), contents: `contents ${round}`, metadata: { round } };
  expect(await post("vectors/upsert", { items: [item] })).toBe(200);
  const query = { query_vectors: vector(round + 1), top_k: 5 };
  expect(await post("vectors/query", query)).toBe(200);
  // Filters that are never asked again, refusals, and clients that leave, must leave nothing behind either.
  if (round % 3 === 0) expect(await post("vectors/query", { ...query, filters: { round } })).toBe(200);
  if (round % 5 === 0) expect(await post("vectors/get", { ids: [id(round)] })).toBe(200);
  if (round % 7 === 0) expect(await post("vectors/query", { ...query, [`unknown${round}`]: 1 })).toBe(422);
  if (round % 11 === 0) expect(await post("vectors/list_ids", { limit: 10 })).toBe(200);
  if (round % 13 === 0)
    expect(await post("vectors/query", { ...query, index_name: `no ${round}` })).toBe(404);
  if (round % 17 === 0) {
    const controller = new AbortController();
    const left = post("vectors/query", query, controller.signal).catch(() => undefined);
    controller.abort();
    await left;
  }
  if (round % 20 === 0) expect(await post("vectors/delete", { ids: [id(7 * round)] })).toBe(200);
}

test(`${pairs} pairs of a write and a read over HTTP leave less than 10 MB in memory`, async () => {
  expect(await post("indexes/create", {})).toBe(200);
  for (let round = 1; round <= warmUp; round++) await pair(round);
  const before = await heldBytes();
  for (let round = warmUp + 1; round <= warmUp + pairs; round++) await pair(round);
  expect((await heldBytes()) - before).toBeLessThan(growthMax);
}, 0);
