/**
 * Values that stand out are sent to every endpoint in every way, valid and not; then nothing that the service writes for its
 * operators holds one of them: log, metrics, traces, audit log, details of errors.
 */

import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { context, propagation, trace } from "@opentelemetry/api";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AuditLog } from "../../packages/server/src/audit/audit-log.js";
import { Metrics } from "../../packages/server/src/metrics/metrics.js";
import { generateKey, openLocation, SealdexError } from "../../src/core.js";
import { type RunningService, startService } from "./service.js";

const rootKey = generateKey();
const exporter = new InMemorySpanExporter();
const log: string[] = [];
const details: string[] = [];
let folder: string;
let audit: AuditLog;
let service: RunningService;
let metrics: Metrics;
/** The error of every create of the storage, if any. */
let fault: Error | undefined;

beforeAll(async () => {
  new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
  folder = await mkdtemp(join(tmpdir(), "sealdex-canary-"));
  const memory = openLocation({ location: "memory" });
  const create: typeof memory.create = (...call) => (fault ? Promise.reject(fault) : memory.create(...call));
  metrics = new Metrics();
  const store = metrics.observed({ ...memory, create }, "index");
  audit = await AuditLog.open({ folder, rootKey, store: memory });
  service = await startService({
    indexLocation: store,
    issuing: { rootKey, store },
    log: { write: (line) => void log.push(line) },
    audit,
    metrics,
    limits: { failedKeysPerMinuteMax: 3, wrongIndexKeysPerMinuteMax: 3 },
  });
});
afterAll(async () => {
  for (const api of [context, propagation, trace]) api.disable();
  await rm(folder, { recursive: true });
});

const canary = "saffron";
const number = 0.1234567;
/** Texts that may be nowhere, like keys. */
const secrets = [
  canary,
  String(number),
  Buffer.from(canary).toString("base64"),
  Buffer.from(canary).toString("hex"),
];
const indexKey = generateKey();
const index = { index_name: "public name", index_key: indexKey };
const item = {
  id: `${canary}-id`,
  vector: [number, 2],
  contents: `${canary} text`,
  metadata: { [canary]: canary },
};
const query = { query_vectors: [number, 2], filters: { [canary]: canary } };

async function post(path: string, body: unknown, headers?: Record<string, string>): Promise<number> {
  const answer = await service.post(path, body, headers);
  if (answer.status !== 200) details.push(JSON.stringify(answer.body));
  return answer.status;
}

/** Every endpoint with a body, as it should be. */
const requests: readonly (readonly [string, object])[] = [
  ["/v1/vectors/upsert", { items: [item] }],
  ["/v1/vectors/query", query],
  ["/v1/vectors/get", { ids: [item.id], include: ["metadata", "contents", "vector"] }],
  ["/v1/vectors/list", { filters: { [canary]: canary } }],
  ["/v1/vectors/list_ids", {}],
  ["/v1/vectors/num_vectors", {}],
  ["/v1/vectors/update", { ids: [item.id], metadata: { [canary]: 2 } }],
  ["/v1/indexes/describe", {}],
  ["/v1/indexes/anchor", {}],
  ["/v1/indexes/train", {}],
  ["/v1/indexes/compact", {}],
  ["/v1/vectors/delete", { ids: [item.id] }],
];

test("no stored data, query or key is written for operators", async () => {
  expect(await post("/v1/indexes/create", { ...index, metric: "cosine" })).toBe(200);
  for (const [path, body] of requests) {
    expect(await post(path, { ...index, ...body }), path).toBe(200);
    const known = { ...index, ...body };
    for (const wrong of [
      { ...known, [canary]: canary },
      { ...known, index_key: generateKey() },
      { ...known, index_key: canary },
      { ...known, ids: { [canary]: number }, items: canary, query_vectors: canary, filters: canary },
      { ...known, filters: { a: { [`$${canary}`]: number } }, cursor: canary, anchor: canary },
      { ...known, top_k: canary, include: [canary], limit: canary, query_contents: [canary] },
      `{"${canary}`,
      [canary],
    ]) {
      expect(await post(path, wrong), path).toBeLessThan(500);
    }
    await post(`${path}?${canary}=${canary}`, known, {
      "X-API-Key": canary,
      traceparent: canary,
      [canary]: canary,
    });
    await service.get(`${path}/${canary}`);
  }
  for (const error of [
    new SealdexError("storage_unavailable", "the storage did not respond"),
    Object.assign(new TypeError(`${canary} is not a function`), { code: canary.toUpperCase() }),
  ]) {
    fault = error;
    expect(await post("/v1/vectors/upsert", { ...index, items: [item] })).toBeGreaterThanOrEqual(500);
    fault = undefined;
  }
  const created = await service.post("/v1/keys", { name: "reader", scopes: ["read"] });
  const issued = String(created.body.api_key);
  await post("/v1/vectors/query", { ...index, ...query }, { "X-API-Key": issued });
  const text = await metrics.text();
  await service.close();
  await audit.close();

  const audited = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")),
  );
  const spans = exporter
    .getFinishedSpans()
    .map(({ name, attributes, events, links, status }) => ({ name, attributes, events, links, status }));
  const written = {
    log: log.join(""),
    audit: audited.join(""),
    metrics: text,
    traces: JSON.stringify(spans),
  };
  for (const [where, content] of Object.entries(written)) {
    expect(content.length, where).toBeGreaterThan(1000);
    for (const secret of [...secrets, indexKey, rootKey, service.apiKey, issued]) {
      // Not toContain, which would print all of it.
      expect(content.includes(secret), `${secret} in the ${where}`).toBe(false);
    }
  }
  // Details go to the caller, who may read there which of the names it sent is wrong, but no value and no key.
  const told = details.join("\n");
  for (const secret of [
    String(number),
    `${canary}-id`,
    `${canary} text`,
    indexKey,
    rootKey,
    service.apiKey,
    issued,
  ]) {
    expect(told.includes(secret), `${secret} in a detail`).toBe(false);
  }
});
