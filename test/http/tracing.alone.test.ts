/** Spans of requests and storage calls, as an SDK of OpenTelemetry records them, without stored data. */

import { context, propagation, trace } from "@opentelemetry/api";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { Metrics } from "../../packages/server/src/metrics/metrics.js";
import { SealdexError } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { type RunningService, startService } from "./service.js";

const exporter = new InMemorySpanExporter();
beforeAll(() => {
  new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
});
afterAll(() => {
  for (const api of [context, propagation, trace]) api.disable();
});

let service: RunningService;
let isBroken: boolean;
beforeEach(async () => {
  isBroken = false;
  const memory = createMemoryStore();
  const create: typeof memory.create = async (...call) => {
    if (isBroken) throw new SealdexError("storage_unavailable", "saffron is not available");
    return memory.create(...call);
  };
  service = await startService({ indexLocation: new Metrics().observed({ ...memory, create }, "index") });
});
afterEach(async () => {
  await service.close();
  exporter.reset();
});

test("a request has a span, whose children are its storage calls, in the trace of the caller", async () => {
  const address = await service.newIndex();
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const items = [{ id: "saffron-id", vector: [0.123456, 2], contents: "saffron", metadata: { saffron: 1 } }];
  exporter.reset();
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  expect((await service.post("/v1/vectors/upsert", { ...address, items }, headers)).status).toBe(200);
  // The span ends when the connection knows that the answer was sent, which the client may know before.
  const ended = () => exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId);
  while (ended().at(-1)?.name !== "POST /v1/vectors/upsert") await new Promise(setImmediate);
  const [request, ...spans] = ended().toReversed();
  expect(request.parentSpanContext?.spanId).toBe("b7ad6b7169203331");
  expect(request.attributes).toEqual({
    "http.request.method": "POST",
    "http.route": "/v1/vectors/upsert",
    "http.response.status_code": 200,
  });
  const calls = spans.filter(({ name }) => name.startsWith("storage "));
  expect(calls.map(({ name }) => name)).toEqual(expect.arrayContaining(["storage read", "storage create"]));
  for (const call of calls) expect(call.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
});

test("no span holds a name, an id, a key, a text or a vector, of requests that succeed and that fail", async () => {
  const address = { ...(await service.newIndex()), unknown_saffron: 1 };
  const item = { id: "saffron-id", vector: [0.123456, 2], contents: "saffron", metadata: { saffron: 1 } };
  const { unknown_saffron: _, ...known } = address;
  const wrong = { ...known, index_key: "5affron".repeat(9) };
  for (const index of [known, address, wrong]) {
    await service.post("/v1/vectors/upsert", { ...index, items: [item] });
    await service.post("/v1/vectors/query", {
      ...index,
      query_vectors: [0.123456, 2],
      filters: { saffron: 1 },
    });
    await service.post("/v1/vectors/get", { ...index, ids: ["saffron-id"] });
  }
  await service.get("/v1/saffron?saffron=1");
  await service.get("/v1/indexes/saffron/users", { baggage: "saffron=1", traceparent: "saffron" });
  isBroken = true;
  expect((await service.post("/v1/vectors/upsert", { ...known, items: [item] })).status).toBe(503);
  const text = JSON.stringify(
    exporter
      .getFinishedSpans()
      .map(({ name, attributes, events, status, links }) => ({ name, attributes, events, status, links })),
  );
  for (const secret of ["saffron", "0.123456", known.index_key, known.index_name, service.apiKey]) {
    expect(text).not.toContain(secret);
  }
  expect(text).toContain('"error.type":"storage_unavailable"');
  expect(text).toContain('"error.type":"invalid_request"');
});
