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
import type { ErrorCode } from "../../src/errors.js";
import { statusOfCode } from "../../src/client/wire/errors.js";
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
let leaf: RunningService;
/** A search that a router sent to the leaf. */
let search: SearchBody;

beforeAll(async () => {
  store = openLocation({ location: "memory" });
  const client = createClient({ indexLocation: store, automaticTraining: false });
  // Ids of shards and ports are random: of 40 shards, one of three leaves gets none in 1 of 3,000,000 runs.
  const notes = await client.createCollection({ ...named, shards: 39 });
  await notes.upsert(randomItems(600, 1));
  await notes.upsert(randomItems(60, 2, "own"), { namespace: "own" });
  await client.splitShards({ ...named, shards: 40 });
  expected = await answers(notes);
  await client.close();
  leaf = await startService({ indexLocation: store });
  const noting = forwardTo(
    (found) => found,
    (body) => (search = JSON.parse(body) as SearchBody),
  );
  const router = await routed(leaf.apiKey, await pretender(noting));
  await router.query({ queryVectors: vectors, filter: { year: 2010 }, namespace: "own", recall: 0.9 });
});

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(async () => {
  await leaf.close();
  await store.close();
});

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
    const own = await startLeaf(options);
    expect(await answers(await routed(own.apiKey, own.baseUrl))).toEqual(expected);
  }
});

test("shards are spread over leaves, and move to others if one does not answer", async () => {
  const apiKey = generateKey();
  const counts = [0, 0, 0];
  const forwarding = (i: number) => pretender(forwardTo((found) => (counts[i]++, found)));
  const urls = await Promise.all([forwarding(0), forwarding(1), forwarding(2)]);
  expect(await answers(await routed(apiKey, ...urls))).toEqual(expected);
  expect(Math.min(...counts)).toBeGreaterThan(0);
  const gone = "http://127.0.0.1:1";
  expect(await answers(await routed(apiKey, gone, ...urls))).toEqual(expected);
});

test("a leaf that does not answer is not waited for", async () => {
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
  const wrong = await pretender(forwardTo((found) => change(found as Found)));
  expect(await answers(await routed(leaf.apiKey, wrong, leaf.baseUrl))).toEqual(expected);
  const alone = await routed(leaf.apiKey, wrong);
  await expect(answers(alone)).rejects.toMatchObject({ code: "storage_unavailable" });
});

test("an error of another service is none of a leaf, and another leaf is asked", async () => {
  const foreign = await pretender((_, response) => response.writeHead(404).end('{"detail":"Not Found"}'));
  expect(await answers(await routed(leaf.apiKey, foreign, leaf.baseUrl))).toEqual(expected);
  const alone = await routed(leaf.apiKey, foreign);
  await expect(answers(alone)).rejects.toMatchObject({ code: "storage_unavailable" });
});

test("a leaf's answer that is longer than any string is not read to its end, and another leaf is asked", async () => {
  const spaces = Buffer.alloc(2 ** 20, " ");
  let sent = 0;
  const endless = await pretender((request, response) => {
    request.resume();
    const more = () => {
      while (!response.destroyed && response.write(spaces)) sent += spaces.length;
    };
    response.on("drain", more);
    more();
  });
  expect(await answers(await routed(leaf.apiKey, endless, leaf.baseUrl))).toEqual(expected);
  const alone = await routed(leaf.apiKey, endless);
  sent = 0;
  const query = alone.query({ queryVector: vectors[0], topK: 1 });
  await expect(query).rejects.toMatchObject({ code: "storage_unavailable" });
  // The buffers of both sockets may come on top of it.
  expect(sent).toBeLessThan(700 * 2 ** 20);
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

/** A query that may leave out shards. `ms`: when it does. */
function partial(notes: VectorIndex, ms: number) {
  return notes.query({
    queryVector: vectors[0],
    topK: 660,
    recall: "exact",
    include: ["distance", "profile"],
    allowPartialAfterMs: ms,
  });
}

const aDay = 86_400_000;

test("a query that allows partial results leaves out the shards that no leaf could search, and counts them", async () => {
  const whole = await partial(await routed(leaf.apiKey, leaf.baseUrl), aDay);
  expect([whole.matches.length, whole.profile.shardsMissing]).toEqual([660, 0]);
  const refused = new Set<string>();
  let failing: string | undefined;
  const faulty = (): Promise<string> => {
    const forward = forwardTo(
      (found) => found,
      (text) => {
        const ids = (JSON.parse(text) as SearchBody).shards.map((shard) => shard.index_id);
        failing ??= ids[0];
        if (!ids.includes(failing)) return;
        for (const id of ids) refused.add(id);
        throw new Error("this shard cannot be searched");
      },
    );
    return pretender(forward);
  };
  const notes = await routed(leaf.apiKey, ...(await Promise.all([faulty(), faulty(), faulty()])));
  const { matches, profile } = await partial(notes, aDay);
  expect(refused.size).toBeLessThan(40);
  expect(profile.shardsMissing).toBe(refused.size);
  const ids = new Set(matches.map(({ id }) => id));
  expect(matches).toEqual(whole.matches.filter(({ id }) => ids.has(id)));
  expect(matches.length).toBeGreaterThan(0);
  expect(matches.length).toBeLessThan(660);
  await expect(notes.query({ queryVector: vectors[0] })).rejects.toMatchObject({
    code: "storage_unavailable",
  });
});

test("after the time that a query allows, it waits for no more shards", async () => {
  const silent = await routed("key", await pretender(() => undefined));
  const { matches, profile } = await partial(silent, 1);
  expect([matches, profile.shardsMissing]).toEqual([[], 40]);
});

test("a query that allows partial results rejects if its caller aborts it, and for errors of other kinds", async () => {
  const aborting = new AbortController();
  const reason = new Error("the caller left");
  const silent = await routed("key", await pretender(() => aborting.abort(reason)));
  const query = { queryVector: vectors[0], include: ["profile"], allowPartialAfterMs: aDay } as const;
  await expect(silent.query({ ...query, signal: aborting.signal })).rejects.toBe(reason);
  const url = await pretender((_, response) => {
    const detail = { status_code: 409, code: "rollback_detected", detail: "an older state" };
    response.writeHead(409, { "X-Error-Code": detail.code }).end(JSON.stringify(detail));
  });
  const other = await routed("key", url);
  await expect(other.query(query)).rejects.toMatchObject({ code: "rollback_detected" });
});

test("a leaf answers for no wrong API key and no key of one index, which the caller of a router did not choose", async () => {
  const rootKey = generateKey();
  const issuer = await startLeaf({ issuing: { rootKey, store } });
  const refused = (code: ErrorCode) => ({ code: "storage_unavailable", cause: { code } });
  await expect(answers(await routed("wrong", issuer.baseUrl))).rejects.toMatchObject(
    refused("unauthenticated"),
  );
  const created = await issuer.post(
    "/v1/keys",
    { scopes: ["read"], indexes: ["notes"], name: "limited" },
    { "X-API-Key": rootKey },
  );
  const writing = await issuer.post("/v1/keys", { scopes: ["write"], name: "w" }, { "X-API-Key": rootKey });
  for (const { body } of [created, writing]) {
    const notes = await routed(String(body.api_key), issuer.baseUrl);
    await expect(answers(notes)).rejects.toMatchObject(refused("forbidden"));
  }
});

test("a leaf that refuses the router's API key is passed over for one that takes it", async () => {
  const other = await startLeaf();
  expect(await answers(await routed(leaf.apiKey, leaf.baseUrl, other.baseUrl))).toEqual(expected);
});

test("a leaf of another location is passed over, and says so in its log", async () => {
  const log: string[] = [];
  const issuing = { rootKey: generateKey(), store };
  const other = openLocation({ location: "memory" });
  const elsewhere = await startLeaf({
    issuing,
    indexLocation: other,
    log: { write: (line: string) => log.push(line) },
  });
  const alone = await routed(issuing.rootKey, elsewhere.baseUrl);
  await expect(answers(alone)).rejects.toMatchObject({ code: "missing_object" });
  expect(log.join("")).toContain("a shard is not at these locations");
  const here = await startLeaf({ issuing });
  const both = await routed(issuing.rootKey, elsewhere.baseUrl, here.baseUrl);
  expect(await answers(both)).toEqual(expected);
});

test("what is no search is refused, and the refusal quotes nothing of it", async () => {
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

test("vectors of one call are one request to a leaf", async () => {
  let requests = 0;
  const counted = await pretender(forwardTo((found) => (requests++, found)));
  const notes = await routed(leaf.apiKey, counted);
  const queryVectors = randomItems(64, 9).map(({ vector = [] }) => vector);
  const singles = [];
  for (const queryVector of queryVectors) singles.push(await notes.query({ queryVector, topK: 10 }));
  requests = 0;
  expect(await notes.query({ queryVectors, topK: 10 })).toEqual(singles);
  expect(requests).toBe(1);
});

const zeros = (numbers: number) => Buffer.alloc(4 * numbers).toString("base64");
const noSearch = "body: expected a search, as routers send it";

test.each<[string, (sent: SearchBody) => object, string, string]>([
  [
    "no vector",
    () => ({ batch: { dimension: 16, vectors_b64: "" } }),
    "invalid_request",
    "1 to 1000 vectors",
  ],
  [
    "too many vectors",
    () => ({ batch: { dimension: 16, vectors_b64: zeros(16 * 1001) } }),
    "invalid_request",
    "1 to 1000 vectors",
  ],
  [
    "part of a vector",
    () => ({ batch: { dimension: 16, vectors_b64: zeros(24) } }),
    "invalid_request",
    "of 16 numbers, 4 bytes each, got 96 bytes",
  ],
  [
    "a vector of another dimension",
    () => ({ batch: { dimension: 15, vectors_b64: zeros(15) } }),
    "dimension_mismatch",
    "batch.vectors_b64: expected 16 numbers, got 15",
  ],
  [
    "a number that is not finite",
    () => ({
      batch: {
        dimension: 16,
        vectors_b64: Buffer.from(new Float32Array(16).fill(NaN).buffer).toString("base64"),
      },
    }),
    "invalid_request",
    "batch.vectors_b64[0]",
  ],
  [
    "no base64",
    () => ({ batch: { dimension: 16, vectors_b64: `${zeros(16)}!!!!` } }),
    "invalid_request",
    "expected base64",
  ],
  [
    "a dimension of 0",
    () => ({ batch: { dimension: 0, vectors_b64: zeros(16) } }),
    "invalid_request",
    noSearch,
  ],
  [
    "vectors of another type",
    () => ({ batch: { dimension: 16, vectors_b64: 5 } }),
    "invalid_request",
    noSearch,
  ],
  ["top_k of 0", () => ({ top_k: 0 }), "invalid_request", noSearch],
  ["a fraction as top_k", () => ({ top_k: 1.5 }), "invalid_request", noSearch],
  [
    "more rows than a response may have",
    () => ({ top_k: 2 ** 40 }),
    "too_large",
    "results: expected at most",
  ],
  ["recall of 0", () => ({ recall: 0 }), "invalid_request", noSearch],
  ["recall above 1", () => ({ recall: 1.5 }), "invalid_request", noSearch],
  ["a negative number of lists", () => ({ lists: -1 }), "invalid_request", noSearch],
  ["other lists", () => ({ lists: "all" }), "invalid_request", noSearch],
  ["a filter that is no JSON", () => ({ filter: "{year" }), "invalid_request", "filters: expected an object"],
  [
    "an unknown operator",
    () => ({ filter: '{"year":{"$near":1}}' }),
    "invalid_request",
    "filters.year.$near",
  ],
  ["an empty namespace", () => ({ namespace: "" }), "invalid_request", "namespace"],
  ["a namespace that is no text", () => ({ namespace: "\ud800" }), "invalid_request", "namespace"],
  ["no shard", () => ({ shards: [] }), "invalid_request", noSearch],
  ["an unknown field", () => ({ more: 1 }), "invalid_request", noSearch],
  [
    "another collection",
    ({ collection }) => ({ collection: { ...collection, id: "0" } }),
    "invalid_request",
    noSearch,
  ],
  ["keys of another length", ofShards({ keys: ["00"] }), "invalid_request", noSearch],
  ["no key", ofShards({ keys: [] }), "invalid_request", noSearch],
  ["a version of 0", ofShards({ version: 0 }), "invalid_request", noSearch],
  ["a version that no index has", ofShards({ version: 2 ** 50 }), "missing_object", "missing"],
  ["a version that is no count", ofShards({ version: 1e300 }), "invalid_request", noSearch],
  ["a digest of another length", ofShards({ digest: "00" }), "invalid_request", noSearch],
  ["an index id of another length", ofShards({ index_id: "00" }), "invalid_request", noSearch],
  ["a suffix that is a path", ofShards({ suffix: "../" }), "invalid_request", noSearch],
  ["a beginning that is no hash", ofShards({ from: 2 ** 32 }), "invalid_request", noSearch],
])("a search with %s is refused", async (_, change, code, detail) => {
  const { status, body } = await leaf.post(leafRoute, { ...search, ...change(search) });
  expect(body).toMatchObject({ code, detail: expect.stringContaining(detail) as string });
  expect(status).toBe(statusOfCode(code as ErrorCode));
});

function ofShards(change: object) {
  return ({ shards }: SearchBody) => ({ shards: shards.map((shard) => ({ ...shard, ...change })) });
}

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

interface SearchBody {
  readonly collection: object;
  readonly shards: readonly { readonly index_id: string }[];
}

interface Found {
  readonly digests: readonly string[];
  readonly rows: readonly unknown[];
}

/** Sends requests to the leaf, which `note` gets, and back what `change` makes of its responses. */
function forwardTo(
  change: (found: unknown) => unknown,
  note: (body: string) => unknown = () => undefined,
): RequestListener {
  const answer = async (request: AsyncIterable<Buffer>): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const sent = Buffer.concat(chunks).toString();
    note(sent);
    const { body } = await leaf.post(leafRoute, sent);
    return JSON.stringify(change(body));
  };
  return (request, response) =>
    void answer(request).then(
      (text) => response.end(text),
      () => response.destroy(),
    );
}
