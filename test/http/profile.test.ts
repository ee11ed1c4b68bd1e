/** The profile of a query over HTTP: in the body, and as a header that any client can ask for. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { type RunningService, startService } from "./service.js";

const address = { index_name: "profiled", index_key: generateKey() };
let service: RunningService;

beforeAll(async () => {
  service = await startService();
  const { index_name: indexName, index_key: indexKey } = address;
  const index = await createClient(service.address).createIndex({ indexName, indexKey });
  await index.upsert([
    { id: "a", vector: [1, 0] },
    { id: "b", vector: [0, 1] },
  ]);
});
afterAll(() => service.close());

async function query(body: object, headers: Record<string, string> = {}, route = "query") {
  const response = await fetch(`${service.baseUrl}/v1/vectors/${route}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-API-Key": service.apiKey, ...headers },
    body: JSON.stringify({ ...address, ...body }),
  });
  const json = (await response.json()) as {
    profile?: { total_ms: number; stages_ms: Record<string, number> };
  };
  return { status: response.status, json, timing: response.headers.get("Server-Timing") };
}

/** The times of a `Server-Timing` header, by name. */
function timesIn(header: string | null): Record<string, number> {
  const entries = (header ?? "").split(", ").map((entry) => /^(\w+);dur=(\d+\.\d+)$/.exec(entry));
  return Object.fromEntries(entries.map((match) => [match?.[1], Number(match?.[2])]));
}

const queryVectors = { query_vectors: [1, 0], include: ["distance"] };

test("a query without either is as it was", async () => {
  const { json, timing } = await query(queryVectors);
  expect([Object.keys(json), timing]).toEqual([["results"], null]);
});

test("the header alone changes nothing in the body", async () => {
  const plain = await query(queryVectors);
  const { json, timing } = await query(queryVectors, { "X-Profile": "true" });
  expect(json).toEqual(plain.json);
  const { total, ...stages } = timesIn(timing);
  expect(Object.keys(stages)).toEqual(expect.arrayContaining(["scan", "fetch"]));
  const sum = Object.values(stages).reduce((all, ms) => all + ms, 0);
  expect(Math.abs(sum - total)).toBeLessThan(0.01);
});

test("another value of the header asks for nothing", async () => {
  expect((await query(queryVectors, { "X-Profile": "false" })).timing).toBeNull();
});

test.each([
  ["query", { query_vectors: [1, 0] }],
  ["query", { query_vectors: [[1, 0]] }],
  ["query_binary", { batch: { vectors_b64: "AACAPwAAAAA=", dimension: 2 } }],
])("%s has the profile beside the results", async (route, body) => {
  const { status, json, timing } = await query({ ...body, include: ["profile"] }, {}, route);
  expect([status, Object.keys(json)]).toEqual([200, ["results", "profile"]]);
  const { total_ms, stages_ms, ...counts } = json.profile ?? { total_ms: 0, stages_ms: {} };
  const sum = Object.values(stages_ms).reduce((all, ms) => all + ms, 0);
  expect(sum).toBeCloseTo(total_ms, 6);
  expect(timesIn(timing).total).toBeCloseTo(total_ms, 2);
  expect(counts).toMatchObject({
    rows_read: 2,
    rows_compared: 0,
    lists: 0,
    requests: expect.any(Number) as number,
  });
});

test("ordered items have no profile", async () => {
  const { status } = await query({ order_by: { n: 1 }, include: ["profile"] });
  expect(status).toBe(422);
});

test("the document of the interface names both", async () => {
  const document = JSON.stringify(await (await fetch(`${service.baseUrl}/v1/openapi.json`)).json());
  expect(document).toContain('"x-profile"');
  expect(document).toContain('"bytes_read"');
});

test("partial results are allowed to queries alone that see what is missing", async () => {
  const allowing = { ...queryVectors, allow_partial_after_ms: 1000 };
  const problem = 'requires "profile" in include, which counts the shards that are missing';
  const refused = {
    status: 422,
    json: { detail: [{ loc: ["body", "allow_partial_after_ms"], msg: problem }] },
  };
  expect(await query(allowing)).toMatchObject(refused);
  expect(await query(allowing, { "X-Profile": "true" })).toMatchObject(refused);
  const { json } = await query({ ...allowing, include: ["distance", "profile"] });
  expect(json).toMatchObject({ results: [{ id: "a" }, { id: "b" }], profile: { shards_missing: 0 } });
  const index = await createClient(service.address).loadIndex({
    indexName: address.index_name,
    indexKey: address.index_key,
  });
  const own = { queryVectors: [[1, 0]], allowPartialAfterMs: 1000 };
  const { profile } = await index.query({ ...own, include: ["profile"] });
  expect(profile.shardsMissing).toBe(0);
  await expect(index.query(own)).rejects.toMatchObject({
    code: "invalid_request",
    message: `allowPartialAfterMs: ${problem}`,
  });
});
