/** Queries by words, of the embedded index and over HTTP alike. */

import { expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import type { VectorIndex, WordQuery } from "../../src/api/vector-index.js";
import { decodeQuery, encodeQuery } from "../../src/client/wire/wire.js";
import { startBoth } from "./both-clients.js";

const { service, clients } = await startBoth();
const indexKey = generateKey();
const items = [
  {
    id: "law",
    vector: [1, 0],
    contents: "The statute of limitations",
    metadata: { year: 1999, title: "Deadlines" },
  },
  { id: "code", vector: [0, 1], contents: "getUserById throws ERR_ASSERTION", metadata: { year: 2020 } },
  {
    id: "mixed",
    vector: [0.7, 0.7],
    contents: "Users, more users and limits",
    metadata: { year: 2021, title: "Limits" },
  },
];

async function openOf(name: string): Promise<VectorIndex> {
  const index = await clients[name].createIndex({
    indexName: `words-${name}`,
    indexKey,
    metric: "cosine",
    textIndex: {
      analyzer: { stopWords: ["throws"] },
      textFields: { contents: 1, title: 3 },
      k1: 1.2,
      b: 0.5,
    },
  });
  await index.upsert(items);
  return index;
}
const embedded = await openOf("embedded");
const remote = await openOf("over HTTP");

const queries: WordQuery[] = [
  { queryText: "limits of users" },
  { queryText: "ERR_ASSERTION", include: ["metadata", "contents"] },
  { queryText: '"statute of limitations"', topK: 1 },
  { queryText: "limit*", filter: { year: { $gt: 2000 } } },
  { queryText: "throws" },
  { queryText: "limit*", queryVector: [0, 1], include: ["scores", "highlights", "distance"] },
  { queryText: "users", queryVector: [1, 0], include: ["distance"] },
  { queryText: "users", queryVector: [1, 0], fusion: { method: "rank", k: 10 } },
  { queryText: "users", queryVector: [1, 0], fusion: { method: "scores", alpha: 0.9 } },
];

test.each(queries)("%j finds the same over HTTP", async (query) => {
  const found = await remote.query(query);
  expect(found).toEqual(await embedded.query(query));
  for (const [i, { score }] of found.entries()) {
    if (i > 0) expect(score).toBeLessThanOrEqual(found[i - 1].score);
  }
});

test("words find their items, by the weights of fields", async () => {
  expect((await remote.query({ queryText: "limits" })).map(({ id }) => id)).toEqual(["mixed", "law"]);
  expect((await remote.query({ queryText: "throws" })).map(({ id }) => id)).toEqual(["code"]);
  expect((await remote.query({ queryText: "throws limits" })).map(({ id }) => id)).toEqual(["mixed", "law"]);
});

const post = (body: object) =>
  service.post("/v1/vectors/query", { index_name: "words-over HTTP", index_key: indexKey, ...body });

test("text and alpha, as newer published clients send them, are reciprocal rank fusion", async () => {
  const query = { query_vectors: [[1, 0]], text: "users" };
  const { body } = await post({ ...query, alpha: 0.2, rrf_k: 60, window_mult: 3 });
  const fusion = { method: "rank", alpha: 0.2, k: 60 } as const;
  const expected = await remote.query({ queryText: "users", queryVector: [1, 0], fusion });
  expect((body.results as { id: string }[]).map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
});

test.each([
  [{ query_text: "a", text: "b" }, /query_text and text/],
  [{ query_text: "a", query_vectors: [[1, 0]], query_contents: "b" }, /query_vectors or query_contents/],
  [
    {
      query_text: "a",
      query_vectors: [
        [1, 0],
        [0, 1],
      ],
    },
    /one vector beside query_text/,
  ],
  [{ query_vectors: [[1, 0]], fusion: { method: "rank" } }, /query_text/],
  [{ query_text: "a", fusion: { method: "best" } }, /method/],
  [{ query_text: 1 }, /query_text/],
])("%j is refused", async (query, detail) => {
  expect(await post(query)).toMatchObject({ status: 422, body: { detail: expect.stringMatching(detail) } });
});

test("the service reads values as the client wrote them", () => {
  const address = { indexName: "a", indexKey };
  const sent = (query: Parameters<typeof encodeQuery>[1]) =>
    decodeQuery(JSON.parse(JSON.stringify(encodeQuery(address, query))) as never);
  const fusion = { method: "scores", alpha: 0.25 } as const;
  expect(sent({ queryText: "a b", fusion })).toMatchObject({ queryText: "a b", fusion, topK: 100 });
  expect(sent({ queryText: "a", queryContents: "b" })).toMatchObject({ queryText: "a", queryContents: "b" });
  expect(sent({ queryText: "", queryVector: [1] })).toMatchObject({
    queryText: "",
    queryVector: Float32Array.of(1),
  });
});
