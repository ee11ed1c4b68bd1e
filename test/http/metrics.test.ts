/** Reports of the service: metrics, trainings, request ids. */

import { PerformanceObserver } from "node:perf_hooks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type BlobStore, generateKey, openLocation, SealdexError } from "../../src/core.js";
import { errorCodes } from "../../src/errors.js";
import { seededRandom } from "../../src/engine/random.js";
import { Metrics } from "../../packages/server/src/metrics/metrics.js";
import { type RunningService, startService } from "./service.js";
import { whole } from "../ranges.js";

let metrics: Metrics;
let service: RunningService;
/** Resolves before each `create` of the storage. */
let beforeCreate: () => Promise<void>;
const rootKey = generateKey();
let lines: string[];

beforeEach(async () => {
  metrics = new Metrics();
  lines = [];
  beforeCreate = async () => undefined;
  const memory = openLocation({ location: "memory" });
  const store: BlobStore = {
    ...memory,
    async create(key, bytes, options) {
      await beforeCreate();
      return memory.create(key, bytes, options);
    },
  };
  service = await startService({
    indexLocation: metrics.observed(store, "index"),
    issuing: { rootKey, store: memory },
    metrics,
    log: { write: (line) => void lines.push(line) },
  });
});
afterEach(() => service.close());

async function scrape(headers: Record<string, string> = { "X-API-Key": rootKey }): Promise<string> {
  const response = await fetch(`${service.baseUrl}/metrics`, { headers });
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toMatch(/^text\/plain; version=0\.0\.4/);
  return response.text();
}

/** The value of a metric with exactly these labels. */
function valueOf(text: string, metric: string): number {
  const line = text.split("\n").find((each) => each.startsWith(`${metric} `));
  return Number(line?.slice(metric.length + 1));
}

test("every error code is counted from the start, so that an alert sees the first error", async () => {
  const text = await scrape();
  for (const code of errorCodes) expect(valueOf(text, `sealdex_errors_total{code="${code}"}`)).toBe(0);
});

test("requests, failures and storage calls are counted and timed", async () => {
  const address = await service.newIndex();
  const items = [{ id: "a", vector: [1, 2] }];
  await service.post("/v1/vectors/upsert", { ...address, items });
  for (let i = 0; i < 3; i++) await service.post("/v1/vectors/query", { ...address, query_vectors: [1, 2] });
  await service.post("/v1/vectors/query", { ...address, query_vectors: [1, 2, 3] });
  await service.post("/v1/vectors/query", { ...address, index_key: generateKey(), query_vectors: [1] });
  const text = await scrape();
  const query = 'method="POST",route="/v1/vectors/query"';
  expect(valueOf(text, `sealdex_requests_total{${query},status="200"}`)).toBe(3);
  expect(valueOf(text, `sealdex_requests_total{${query},status="422"}`)).toBe(1);
  expect(valueOf(text, `sealdex_requests_total{${query},status="403"}`)).toBe(1);
  expect(valueOf(text, 'sealdex_request_seconds_count{route="/v1/vectors/query"}')).toBe(5);
  expect(valueOf(text, 'sealdex_errors_total{code="dimension_mismatch"}')).toBe(1);
  expect(valueOf(text, 'sealdex_errors_total{code="wrong_index_key"}')).toBe(1);
  // This request itself.
  expect(valueOf(text, "sealdex_requests_under_way")).toBe(1);
  expect(valueOf(text, "sealdex_open_indexes")).toBe(1);
  for (const operation of ["read", "create"]) {
    const labels = `location="index",operation="${operation}"`;
    expect(valueOf(text, `sealdex_storage_seconds_count{${labels}}`)).toBeGreaterThan(0);
    expect(valueOf(text, `sealdex_storage_bytes_total{${labels}}`)).toBeGreaterThan(0);
  }
  expect(text).toContain("process_resident_memory_bytes");
});

test("a storage call that fails is counted as such, and its error is the caller's", async () => {
  const store = metrics.observed(
    { ...openLocation({ location: "memory" }), read: async () => Promise.reject(new Error("gone")) },
    "config",
  );
  await expect(store.read("a", whole)).rejects.toThrow("gone");
  const labels = 'location="config",operation="read"';
  expect(valueOf(await scrape(), `sealdex_storage_errors_total{${labels}}`)).toBe(1);
});

test("a measured store behaves like the store", async () => {
  const store = metrics.observed(openLocation({ location: "memory" }), "index");
  expect(await store.create("a/b", Buffer.from("hello"))).toBe(true);
  expect(await store.create("a/b", Buffer.from("again"))).toBe(false);
  expect(Buffer.from((await store.read("a/b", { offset: 1, length: 2 })) ?? [])).toEqual(Buffer.from("el"));
  expect(await store.list("a", { limit: 1 })).toEqual(["a/b"]);
  await store.delete(["a/b"]);
  expect(await store.read("a/b", whole)).toBeNull();
});

test("metrics need a key for all indexes, which may be a bearer token", async () => {
  const issue = async (details: object) => {
    const { body } = await service.post("/v1/keys", { name: "x", ...details }, { "X-API-Key": rootKey });
    return body.api_key as string;
  };
  const [reader, limited] = [
    await issue({ scopes: ["read"] }),
    await issue({ scopes: ["read"], indexes: ["a"] }),
  ];
  expect(await scrape({ Authorization: `Bearer ${reader}` })).toContain("sealdex_requests_total");
  const status = async (headers: Record<string, string>, path = "/metrics") =>
    (await fetch(service.baseUrl + path, { headers })).status;
  expect(await status({})).toBe(401);
  expect(await status({ Authorization: `Bearer ${limited}` })).toBe(403);
  expect(await status({ Authorization: `Bearer ${reader}x` })).toBe(401);
  expect(await status({ Authorization: `Bearer ${reader}` }, "/v1/indexes/list")).toBe(401);
});

test("the OpenAPI document has metrics as text and their refusals as JSON", async () => {
  const { paths } = (await service.get("/v1/openapi.json")).body as {
    paths: Record<string, { get: { responses: Record<string, { content: object }> } }>;
  };
  const { responses } = paths["/metrics"].get;
  const type = async (headers: Record<string, string>) =>
    (await fetch(`${service.baseUrl}/metrics`, { headers })).headers.get("Content-Type")?.split(";")[0];
  expect(Object.keys(responses["200"].content)).toEqual([await type({ "X-API-Key": rootKey })]);
  expect(Object.keys(responses.default.content)).toEqual([await type({})]);
});

test("no name, id, text, vector or key is in the metrics or the log", async () => {
  const address = { index_name: "canary-index", index_key: generateKey() };
  const item = {
    id: "canary-id",
    contents: "canary-text",
    vector: [0.123456789, 1],
    metadata: { a: "canary-value" },
  };
  await service.post("/v1/indexes/create", address);
  await service.post("/v1/vectors/upsert", { ...address, items: [item] });
  await service.post("/v1/vectors/query", { ...address, query_vectors: item.vector });
  await service.get("/v1/canary-path");
  await service.get("/v1/indexes/list", { "X-API-Key": "canary-key" });
  for (const text of [await scrape(), ...lines]) {
    for (const secret of ["canary", "0.123456789", address.index_key, rootKey, service.apiKey]) {
      expect(text).not.toContain(secret);
    }
  }
});

test("the training of an index is seen while it runs, by those that may use the index, and counted", async () => {
  const address = await service.newIndex();
  const items = Array.from({ length: 300 }, (_, i) => ({ id: `${i}`, vector: [i % 17, i % 13] }));
  await service.post("/v1/vectors/upsert", { ...address, items });
  const { body } = await service.post(
    "/v1/keys",
    { name: "x", scopes: ["read"], indexes: ["another"] },
    { "X-API-Key": rootKey },
  );
  const status = async (headers: Record<string, string> = {}) =>
    (await (await fetch(`${service.baseUrl}/v1/indexes/training-status`, { headers })).json()) as object;
  const idle = {
    training_indexes: [],
    currently_training: null,
    queued_indexes: [],
    retrain_threshold: 10_000,
    worker_running: false,
    worker_pid: 0,
    global_training: {},
  };
  expect(await status()).toEqual(idle);

  let release = () => undefined as void;
  const released = new Promise<void>((resolve) => (release = resolve));
  const writing = new Promise<void>((resolve) => {
    beforeCreate = () => {
      resolve();
      return released;
    };
  });
  const trained = service.post("/v1/indexes/train", { ...address, n_lists: 4 });
  await writing;
  expect(await status({ "X-API-Key": rootKey })).toEqual({
    ...idle,
    training_indexes: [address.index_name],
    currently_training: address.index_name,
    worker_running: true,
  });
  expect(await status()).toEqual(idle);
  expect(await status({ "X-API-Key": body.api_key as string })).toEqual(idle);
  expect(
    (await fetch(`${service.baseUrl}/v1/indexes/training-status`, { headers: { "X-API-Key": "x" } })).status,
  ).toBe(401);
  expect(valueOf(await scrape(), "sealdex_trainings_running")).toBe(1);
  release();
  expect((await trained).status).toBe(200);
  expect(await status({ "X-API-Key": rootKey })).toEqual(idle);
  expect(valueOf(await scrape(), 'sealdex_training_seconds_count{result="done"}')).toBe(1);

  beforeCreate = () => Promise.reject(new SealdexError("storage_unavailable", "full"));
  const failed = await service.post("/v1/indexes/train", { ...address, n_lists: 5 });
  expect(failed.status).toBe(503);
  expect(valueOf(await scrape(), 'sealdex_training_seconds_count{result="failed"}')).toBe(1);
  expect(await status({ "X-API-Key": rootKey })).toEqual(idle);
});

test("a request keeps the id that it brings, if that is fit for a log", async () => {
  const idOf = async (given: string) =>
    (await fetch(`${service.baseUrl}/v1/health`, { headers: { "X-Request-Id": given } })).headers.get(
      "X-Request-Id",
    );
  expect(await idOf("a-request-of_42")).toBe("a-request-of_42");
  expect(lines.some((line) => line.includes('"a-request-of_42"'))).toBe(true);
  for (const odd of ["short", "x".repeat(65), "with spaces in it", 'quote"quote"']) {
    expect(await idOf(odd)).toMatch(/^[0-9a-f-]{36}$/);
  }
});

test("the service is live whatever its storage does, and ready as long as the storage responds", async () => {
  let asked = 0;
  const failing = await startService({
    checkStorage: () => {
      asked++;
      return Promise.reject(new DOMException("canary", "TimeoutError"));
    },
  });
  const answers = [await failing.get("/v1/health/ready"), await failing.get("/v1/health/ready")];
  for (const { status, body } of answers) {
    expect([status, body.code]).toEqual([503, "storage_unavailable"]);
    expect(JSON.stringify(body)).not.toContain("canary");
  }
  expect(asked).toBeLessThanOrEqual(2);
  for (const path of ["/v1/health", "/v1/health/live"]) expect((await failing.get(path)).status).toBe(200);
  await failing.close();
  const healthy = { status: "healthy", api_version: "v1", version: "1.2.3" };
  expect(await service.get("/v1/health/ready", {})).toEqual({ status: 200, body: healthy });
});

test("the measured recall is that of the open index that finds the least, with its interval", async () => {
  const random = seededRandom(8);
  const vectors = (n: number) => Array.from({ length: n }, () => Array.from({ length: 8 }, () => random()));
  expect(await scrape()).not.toContain("sealdex_measured_recall{");
  const found: number[] = [];
  for (const nLists of [4, 20]) {
    const address = await service.newIndex();
    const items = vectors(400).map((vector, i) => ({ id: `${i}`, vector }));
    await service.post("/v1/vectors/upsert", { ...address, items });
    await service.post("/v1/indexes/train", { ...address, n_lists: nLists, queries: vectors(100) });
    const { body } = await service.post("/v1/indexes/describe", address);
    const { measured_recall } = body.index_config as {
      measured_recall: { points: { recall: number; found: number }[] }[];
    };
    found.push(measured_recall[0].points.find(({ recall }) => recall === 0.9)?.found ?? 2);
  }
  const text = await scrape();
  const bound = (name: string) =>
    valueOf(text, `sealdex_measured_recall{top_k="10",recall="0.9",bound="${name}"}`);
  expect(bound("found")).toBe(Math.min(...found));
  expect(bound("low")).toBeLessThan(bound("found"));
  expect(bound("high")).toBeGreaterThanOrEqual(bound("found"));
  expect(bound("high")).toBeLessThanOrEqual(1);
});

test("services of one process share one observer of garbage collections and count their requests apart", async () => {
  const observed = vi.spyOn(PerformanceObserver.prototype, "observe");
  const other = new Metrics();
  expect(observed).not.toHaveBeenCalled();
  observed.mockRestore();
  other.begin();
  const texts = [await metrics.text(), await other.text()];
  expect(texts.map((text) => valueOf(text, "sealdex_requests_under_way"))).toEqual([0, 1]);
  for (const text of texts) expect(text).toContain("nodejs_gc_duration_seconds");
});
