/** Results: limited before they are made, and sent as fast as the client reads them. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createClient, type Item } from "../../src/core.js";
import { type RunningService, startService } from "./service.js";

let service: RunningService;
afterEach(() => service.close());

const resultBytesMax = 300_000;
/** Nothing here depends on how long it takes. */
const hour = 3_600_000;
const start = async (items: readonly Item[]) => {
  service = await startService({
    limits: { resultBytesMax, resultsBytesMax: resultBytesMax, waitMsMax: hour },
  });
  const index = await service.newIndex();
  expect(await service.post("/v1/vectors/upsert", { ...index, items })).toMatchObject({ status: 200 });
  return index;
};
const large: Item[] = Array.from({ length: 20 }, (_, i) => ({
  id: `${i}`,
  vector: [i, 1],
  contents: "x".repeat(20_000),
  metadata: { text: "y".repeat(20_000) },
}));
const small: Item[] = Array.from({ length: 5000 }, (_, i) => ({ id: `${i}`, vector: [i, 1] }));
const tooLarge = {
  status: 413,
  body: {
    code: "too_large",
    detail: expect.stringMatching(
      /^results: expected at most 300000 bytes \(SEALDEX_RESULT_BYTES_MAX\); ask for fewer/,
    ),
  },
};

test("one id many times is looked up once, and answered as often as it fits", async () => {
  const index = await start(large);
  const get = (count: number, include?: string[]) =>
    service.post("/v1/vectors/get", { ...index, ids: Array.from({ length: count }, () => "3"), include });
  expect(await get(10_000)).toMatchObject(tooLarge);
  const { status, body } = await get(7);
  expect(status).toBe(200);
  expect(body.results).toEqual(Array.from({ length: 7 }, () => large[3]));
  expect(await get(1000, [])).toMatchObject({ status: 200 });
});

test.each<[string, readonly Item[], string, object]>([
  ["contents", large, "get", { ids: large.map(({ id }) => id), include: ["contents"] }],
  ["metadata of one query", large, "query", { query_vectors: [1, 1] }],
  [
    "metadata of many queries",
    large,
    "query",
    { query_vectors: Array.from({ length: 20 }, () => [1, 1]), top_k: 1 },
  ],
  ["many small matches", small, "query", { query_vectors: [[1, 1]], top_k: 5000, include: [] }],
  ["ids", small, "list_ids", {}],
  [
    "room for all items in many queries",
    small,
    "query",
    { query_vectors: Array.from({ length: 5 }, () => [1, 1]), top_k: 10_001, include: [] },
  ],
])("more %s than a request may have is refused, saying how to ask for less", async (_, items, verb, body) => {
  const index = await start(items);
  expect(await service.post(`/v1/vectors/${verb}`, { ...index, ...body })).toMatchObject(tooLarge);
  // The service still works, and the room is free again.
  expect(await service.post("/v1/vectors/list_ids", { ...index, limit: 10 })).toMatchObject({ status: 200 });
});

test("the client requests results in parts if they are too large at once", async () => {
  const { index_name: indexName, index_key: indexKey } = await start(large);
  await using client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  const index = await client.loadIndex({ indexName, indexKey });
  const ids = large.map(({ id }) => id);
  const items = await index.get(ids);
  expect(items.map(({ vector, ...item }) => ({ ...item, vector: [...(vector ?? [])] }))).toEqual(large);
  const queryVectors = large.map(({ vector }) => vector ?? []);
  const lists = await index.query({ queryVectors, topK: 1, include: ["metadata"] });
  expect(lists).toEqual(large.map(({ id, metadata }) => [{ id, metadata }]));
});

test("large answers wait for one another, and all arrive whole", async () => {
  const index = await start(large);
  const ids = large.slice(0, 13).map(({ id }) => id);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () =>
      service.post("/v1/vectors/get", { ...index, ids, include: ["contents"] }),
    ),
  );
  for (const { status, body } of answers) {
    expect(status).toBe(200);
    expect(body.results).toHaveLength(13);
  }
});

/** Requests an answer of 40 MB, and stops reading it at its beginning. */
async function readNoFurther(): Promise<{ readonly socket: Socket; readonly body: object }> {
  const index = await service.newIndex();
  const items = Array.from({ length: 40 }, (_, i) => ({
    id: `${i}`,
    vector: [1],
    contents: "x".repeat(1_000_000),
  }));
  for (const item of items) await service.post("/v1/vectors/upsert", { ...index, items: [item] });
  const body = { ...index, ids: items.map(({ id }) => id), include: ["contents"] };
  const text = JSON.stringify(body);
  const socket = connect(Number(new URL(service.baseUrl).port), "127.0.0.1");
  socket.on("error", () => socket.destroy());
  socket.pause();
  socket.write(
    `POST /v1/vectors/get HTTP/1.1\r\nHost: x\r\nX-API-Key: ${service.apiKey}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  );
  await once(socket, "readable");
  return { socket, body };
}

test("a client that stops reading its answer is closed, and others have their turn", async () => {
  service = await startService({ limits: { stalledMsMax: 100, resultsBytesMax: 1, waitMsMax: hour } });
  const { socket, body } = await readNoFurther();
  // Has to wait until the first is closed, since there is room for one.
  const answer = await service.post("/v1/vectors/get", body);
  expect(answer.body.results).toHaveLength(40);
  socket.destroy();
});

test("an answer that waits too long for room is refused, to be tried again", async () => {
  service = await startService({
    limits: { stalledMsMax: hour, workMsMax: hour, resultsBytesMax: 1, waitMsMax: 100 },
  });
  const { socket, body } = await readNoFurther();
  expect(await service.post("/v1/vectors/get", body)).toMatchObject({
    status: 503,
    body: { code: "overloaded", detail: "the service is busy: the request waited 100 ms" },
  });
  socket.destroy();
});

test("a read that takes too long is ended, saying to ask for less", async () => {
  service = await startService({ limits: { workMsMax: 1 } });
  const index = await service.newIndex();
  const items = Array.from({ length: 2000 }, (_, i) => ({
    id: `${i}`,
    vector: Array.from({ length: 64 }, () => i),
  }));
  await service.post("/v1/vectors/upsert", { ...index, items });
  const query = { ...index, query_vectors: items.slice(0, 1000).map(({ vector }) => vector), include: [] };
  expect(await service.post("/v1/vectors/query", query)).toMatchObject({
    status: 413,
    body: { code: "too_large", detail: "request: it was not done within 1 ms; ask for less at a time" },
  });
});
