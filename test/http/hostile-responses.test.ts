/** Responses as a service of other origin, or a hostile one, sends them: an error of the library, and no result. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { type Client, generateKey, type VectorIndex } from "../../src/core.js";
import { codeOf } from "../outcome.js";

const config = { type: "ivfflat", dimension: 2, metric: "euclidean", n_lists: 1, memory: {} };
const describing = (fields: object) => ({ index_name: "a", index_config: { ...config, ...fields } });
const address = { indexName: "a", indexKey: generateKey() };

let answer: unknown;
const server = createServer((request, response) => {
  request.resume().once("end", () => response.end(JSON.stringify(answer)));
});
let client: Client;
let index: VectorIndex;

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  client = createClient({ baseUrl: `http://127.0.0.1:${port}`, maxRetries: 0 });
  answer = describing({});
  index = await client.loadIndex(address);
});
afterAll(async () => {
  await client.close();
  server.close();
});

const calls: Readonly<Record<string, () => Promise<unknown>>> = {
  load: () => client.loadIndex(address),
  describe: () => index.describe(),
  upsert: () => index.upsert([{ id: "a", vector: [1, 2] }]),
  update: () => index.update({ ids: ["a"] }, { metadata: { a: 1 } }),
  query: () => index.query({ queryVector: [1, 2] }),
  "query several": () =>
    index.query({
      queryVectors: [
        [1, 2],
        [3, 4],
      ],
    }),
  "query by words": () => index.query({ queryText: "a" }),
  "query with its profile": () => index.query({ queryText: "a", include: ["distance", "profile"] }),
  get: () => index.get(["a"]),
  "list items": () => index.listItems(),
  "list ids": () => index.listIds(),
  count: () => index.count(),
  anchor: () => index.anchor(),
  erase: () => index.erase("n"),
  "read receipt": () => index.namespaces.readReceipt("r"),
  "list namespaces": () => index.namespaces.list(),
  "list wraps": () => index.wraps.list(),
  "list indexes": () => client.listIndexes(),
};

test.each(Object.entries(calls))("%s takes no JSON of anything else for a result", async (_, call) => {
  for (const json of [null, 5, "x", [], {}]) {
    answer = json;
    expect(await codeOf(call())).toBe("internal");
  }
});

test.each<[string, string, unknown]>([
  ["query", "no list of matches", { results: [] }],
  ["query", "a list too many", { results: [[], []] }],
  ["query several", "a list too few", { results: [[]] }],
  ["query by words", "a vector that is a text", { results: [{ id: "a", vector: "abc" }] }],
  ["query by words", "a decoded vector without numbers", { results: [{ id: "a", decoded: [null] }] }],
  ["query with its profile", "a profile that is null", { results: [], profile: null }],
  ["query with its profile", "a profile without stages", { results: [], profile: { total_ms: 1 } }],
  ["get", "a time that is none", { results: [{ id: "a", expires_at: "soon" }] }],
  ["list wraps", "a time that is none", { wraps: [{ name: "a", access: "read-only", expires_at: "soon" }] }],
  ["erase", "no namespace", { receipt: "r", erased_at: "2030-01-01T00:00:00Z" }],
  ["read receipt", "a time that is none", { namespace: "n", erased_at: "soon" }],
  ["describe", "no memory", describing({ memory: null })],
  ["describe", "curves that are no list", describing({ recall_curves: 5 })],
  ["describe", "a curve that is null", describing({ recall_curves: [null] })],
  ["describe", "a curve without points", describing({ recall_curves: [{ top_k: 1 }] })],
  ["describe", "measurements that are no list", describing({ measured_recall: {} })],
])("%s refuses %s", async (call, _, json) => {
  answer = json;
  expect(await codeOf(calls[call]())).toBe("internal");
});
