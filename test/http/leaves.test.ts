/** Routers ask leaves over HTTP, and others if these fail. */

import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import {
  type BlobStore,
  createClient,
  generateKey,
  openLocation,
  passphraseKey,
  type VectorIndex,
} from "../../src/core.js";
import { createRouter } from "../../src/index/collection/router.js";
import { parseLeaves } from "../../packages/server/src/leaves/leaf-addresses.js";
import { Leaves } from "../../packages/server/src/leaves/leaves.js";
import { leafRoute } from "../../packages/server/src/schemas/leaf.js";
import { randomItems } from "../collection/twins.js";
import { type RunningService, startService } from "./service.js";

const named = { indexName: "notes", indexKey: generateKey() };
const vectors = randomItems(20, 1).map(({ vector = [] }) => vector);
const closing: (() => Promise<unknown>)[] = [];

let store: BlobStore;
let expected: unknown;

beforeAll(async () => {
  store = openLocation({ location: "memory" });
  const client = createClient({ indexLocation: store, automaticTraining: false });
  const notes = await client.createCollection({ ...named, shards: 7 });
  await notes.upsert(randomItems(600, 1));
  await notes.upsert(randomItems(60, 2, "own"), { namespace: "own" });
  await client.splitShards({ ...named, shards: 8 });
  expected = await answers(notes);
  await client.close();
});

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(() => store.close());

async function answers(notes: VectorIndex): Promise<unknown> {
  return [
    await notes.query({ queryVectors: vectors, topK: 20, include: ["distance", "metadata"] }),
    await notes.query({ queryVector: vectors[0], filter: { year: { $gte: 2010 } }, recall: "exact" }),
    await notes.query({ queryVector: vectors[1], namespace: "own", recall: 0.95 }),
    await notes.query({ queryVector: vectors[2], nProbes: 2 }),
  ];
}

async function startLeaf(options = {}): Promise<RunningService> {
  const service = await startService({ indexLocation: store, ...options });
  closing.push(() => service.close());
  return service;
}

/** A collection that these leaves search. */
async function routed(apiKey: string, ...urls: string[]): Promise<VectorIndex> {
  const leaves = new Leaves(async () => urls, apiKey);
  const router = createRouter({ indexLocation: store }, leaves.search);
  closing.push(() => router.close().then(() => leaves.close()));
  return router.loadCollection(named);
}

/** A server that is no leaf. Its URL. */
async function pretender(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("leaves find what the process that has the collection open finds", async () => {
  for (const options of [{}, { indexKey: passphraseKey("of another index") }]) {
    const leaf = await startLeaf(options);
    expect(await answers(await routed(leaf.apiKey, leaf.baseUrl))).toEqual(expected);
  }
});

test("shards are spread over leaves, and move to others if one does not answer", async () => {
  const apiKey = generateKey();
  const counts = [0, 0, 0];
  const leaf = await startLeaf();
  const forwarding = (i: number) => pretender(forwardTo(leaf, (found) => (counts[i]++, found)));
  const urls = await Promise.all([forwarding(0), forwarding(1), forwarding(2)]);
  expect(await answers(await routed(apiKey, ...urls))).toEqual(expected);
  expect(Math.min(...counts)).toBeGreaterThan(0);
  const gone = "http://127.0.0.1:1";
  expect(await answers(await routed(apiKey, gone, ...urls))).toEqual(expected);
});

test("a leaf that does not answer is not waited for", async () => {
  const leaf = await startLeaf();
  let asked = 0;
  const silent = await pretender(() => asked++);
  expect(await answers(await routed(leaf.apiKey, silent, leaf.baseUrl))).toEqual(expected);
  expect(asked).toBeGreaterThan(0);
});

test.each([
  ["names another state", ({ digests, ...found }: Found) => ({ ...found, digests: digests.map(() => "00") })],
  ["leaves out a shard", ({ rows, ...found }: Found) => ({ ...found, rows: rows.slice(1) })],
  ["is no leaf", () => ({ message: "welcome" })],
])("an answer that %s is refused, and another leaf is asked", async (_, change) => {
  const leaf = await startLeaf();
  const wrong = await pretender(forwardTo(leaf, (found) => change(found as Found)));
  expect(await answers(await routed(leaf.apiKey, wrong, leaf.baseUrl))).toEqual(expected);
  const alone = await routed(leaf.apiKey, wrong);
  await expect(answers(alone)).rejects.toMatchObject({ code: "storage_unavailable" });
});

test("a query that its caller aborts rejects with the reason", async () => {
  const aborting = new AbortController();
  const reason = new Error("the caller left");
  const silent = await pretender(() => aborting.abort(reason));
  const notes = await routed("key", silent);
  const query = notes.query({ queryVector: vectors[0], signal: aborting.signal });
  await expect(query).rejects.toBe(reason);
});

test("without a leaf that answers, a query fails", async () => {
  const notes = await routed("key", "http://127.0.0.1:1");
  await expect(answers(notes)).rejects.toMatchObject({
    code: "storage_unavailable",
    message: "leaves: none of 1 answered for a shard",
  });
});

test("a leaf answers for no wrong API key and no key of one index", async () => {
  const rootKey = generateKey();
  const leaf = await startLeaf({ issuing: { rootKey, store } });
  await expect(answers(await routed("wrong", leaf.baseUrl))).rejects.toMatchObject({
    code: "unauthenticated",
  });
  const created = await leaf.post(
    "/v1/keys",
    { scopes: ["read"], indexes: ["notes"], name: "limited" },
    { "X-API-Key": rootKey },
  );
  const writing = await leaf.post("/v1/keys", { scopes: ["write"], name: "w" }, { "X-API-Key": rootKey });
  for (const { body } of [created, writing]) {
    const notes = await routed(String(body.api_key), leaf.baseUrl);
    await expect(answers(notes)).rejects.toMatchObject({ code: "forbidden" });
  }
});

test("what is no search is refused, and the refusal quotes nothing of it", async () => {
  const leaf = await startLeaf();
  const key = generateKey();
  for (const body of [
    {},
    { shards: [] },
    { collection: { ids_key: key } },
    `{"ids_key": "${key}`,
    key,
    "null",
  ]) {
    expect(await leaf.post(leafRoute, body)).toEqual({
      status: 422,
      body: {
        status_code: 422,
        code: "invalid_request",
        detail: "body: expected a search, as routers send it",
      },
    });
  }
  const plain = { "Content-Type": "text/plain" };
  expect(await leaf.post(leafRoute, {}, plain)).toMatchObject({ status: 415 });
});

test("leaves are a list of URLs, or the addresses of a name", async () => {
  expect(await parseLeaves("http://a:1, https://b", "LEAVES")()).toEqual(["http://a:1", "https://b"]);
  const resolved = await parseLeaves("dns://localhost:80", "LEAVES")();
  expect(resolved.length).toBeGreaterThan(0);
  for (const url of resolved) expect(url).toMatch(/^http:\/\/(127\.0\.0\.1|\[::1\]):80$/);
  for (const text of ["a:1", "http://a,ftp://b", "dns://a", "http://"]) {
    expect(() => parseLeaves(text, "LEAVES")).toThrow(/^LEAVES: expected URLs/);
  }
  await expect(parseLeaves("dns://absent.invalid:80", "LEAVES")()).rejects.toThrow();
});

interface Found {
  readonly digests: readonly string[];
  readonly rows: readonly unknown[];
}

/** Sends requests to a leaf, and back what `change` makes of its responses. */
function forwardTo(leaf: RunningService, change: (found: unknown) => unknown): RequestListener {
  const answer = async (request: AsyncIterable<Buffer>): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { body } = await leaf.post(leafRoute, Buffer.concat(chunks).toString());
    return JSON.stringify(change(body));
  };
  return (request, response) =>
    void answer(request).then(
      (text) => response.end(text),
      () => response.destroy(),
    );
}
