import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import type { VectorFilter } from "@mastra/core/vector/filter";
import { createClient, generateKey } from "sealdex/core";
import { expect, onTestFinished, test } from "vitest";
import { SealdexVector } from "../src/index.js";

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sealdex-mastra-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function openVector(path = temporaryFolder(), indexKey = generateKey()): SealdexVector {
  const vector = new SealdexVector({ id: "sealdex", indexKey, indexLocation: { location: "local", path } });
  onTestFinished(() => vector.close());
  return vector;
}

const indexName = "product_docs";
const day = new Date("2026-01-02T03:04:05Z");

async function filled(metric: "cosine" | "euclidean" = "cosine"): Promise<SealdexVector> {
  const vector = openVector();
  await vector.createIndex({ indexName, dimension: 3, metric });
  await vector.upsert({
    indexName,
    ids: ["a", "b", "c"],
    vectors: [
      [1, 0, 0],
      [0, 2, 0],
      [0, 0, 1],
    ],
    metadata: [
      { source: "x.md", page: 1, tags: ["red", "big"], at: day, by: { name: "Ann" } },
      { source: "y.md", page: 2, tags: ["red"], note: undefined },
      { source: "y.md", page: 3, tags: [] },
    ],
  });
  return vector;
}

/** The ids that match, as a query without a vector lists them. */
async function matching(vector: SealdexVector, filter: object): Promise<string[]> {
  return (await vector.query({ indexName, filter: filter as VectorFilter })).map(({ id }) => id);
}

test("an index is created once, described, listed and deleted", async () => {
  const vector = openVector();
  await Promise.all([
    vector.createIndex({ indexName, dimension: 3 }),
    vector.createIndex({ indexName, dimension: 3 }),
  ]);
  await vector.createIndex({ indexName: "memory_messages_384", dimension: 384, metric: "euclidean" });
  expect((await vector.listIndexes()).sort()).toEqual(["memory_messages_384", indexName]);
  expect(await vector.describeIndex({ indexName })).toEqual({ dimension: 3, count: 0, metric: "cosine" });
  await expect(vector.createIndex({ indexName, dimension: 4 })).rejects.toMatchObject({
    id: "VECTOR_VALIDATE_INDEX_DIMENSION_MISMATCH",
  });
  await vector.deleteIndex({ indexName });
  await vector.deleteIndex({ indexName });
  expect(await vector.listIndexes()).toEqual(["memory_messages_384"]);
});

test("an index without a dimension is refused, and not created", async () => {
  const vector = openVector();
  const without = { indexName } as Parameters<SealdexVector["createIndex"]>[0];
  await expect(vector.createIndex(without)).rejects.toMatchObject({ cause: { code: "invalid_request" } });
  expect(await vector.listIndexes()).toEqual([]);
});

test("queries score as Mastra's stores do, and return vectors if they are asked to", async () => {
  const cosine = await filled();
  const [best, ...others] = await cosine.query({
    indexName,
    queryVector: [0, 5, 0],
    topK: 2,
    includeVector: true,
  });
  expect(best).toEqual({
    id: "b",
    score: 1,
    metadata: { source: "y.md", page: 2, tags: ["red"] },
    vector: [0, 2, 0],
  });
  expect(others).toMatchObject([{ score: 0 }]);
  const euclidean = await filled("euclidean");
  const found = await euclidean.query({ indexName, queryVector: [0, 5, 0], topK: 1 });
  expect(found).toMatchObject([{ id: "b", score: 0.25 }]);
  expect(found[0]).not.toHaveProperty("vector");
});

test("a query of a trained index reads as many lists as it takes", async () => {
  const path = temporaryFolder();
  const indexKey = generateKey();
  const vector = openVector(path, indexKey);
  await vector.createIndex({ indexName, dimension: 2 });
  const vectors = Array.from({ length: 200 }, (_, i) => [Math.cos(i / 32), Math.sin(i / 32)]);
  await vector.upsert({ indexName, vectors });
  const client = createClient({ indexLocation: { location: "local", path } });
  onTestFinished(() => client.close());
  await (await client.loadIndex({ indexName, indexKey })).train({ nLists: 20 });
  expect(await vector.query({ indexName, queryVector: [1, 0], topK: 100 })).toHaveLength(100);
});

test("filters mean the same as in Mastra's other stores", async () => {
  const vector = await filled();
  const cases: [object, string[]][] = [
    [{ source: "y.md" }, ["b", "c"]],
    [{ source: ["x.md", "z.md"] }, ["a"]],
    [{ source: { $in: "x.md" } }, ["a"]],
    [{ page: { $gt: 1, $lte: 3 } }, ["b", "c"]],
    [{ by: { name: "Ann" } }, ["a"]],
    [{ "by.name": { $exists: true } }, ["a"]],
    [{ at: day }, ["a"]],
    [{ at: { $lt: new Date("2027-01-01") } }, ["a"]],
    [{ tags: { $all: ["red", "big"] } }, ["a"]],
    [{ tags: { $all: [] } }, []],
    [{ tags: "red" }, ["a", "b"]],
    [{ source: { $contains: "x." } }, ["a"]],
    [{ page: { $not: { $gte: 2 } } }, ["a"]],
    [{ $not: { page: 1 } }, ["b", "c"]],
    [{ $or: [{ page: 1 }, { $and: [{ page: 3 }, { source: "y.md" }] }] }, ["a", "c"]],
    [{ $nor: [{ page: 1 }, { page: 2 }] }, ["c"]],
    [{ source: { $ne: "y.md" }, page: { $nin: [2] } }, ["a"]],
    [{ by: null }, ["b", "c"]],
  ];
  for (const [filter, ids] of cases) {
    expect(await matching(vector, filter), JSON.stringify(filter)).toEqual(ids);
    const near = await vector.query({ indexName, queryVector: [1, 1, 1], filter: filter as VectorFilter });
    expect(near.map(({ id }) => id).sort(), JSON.stringify(filter)).toEqual(ids);
  }
  expect(await vector.query({ indexName, queryVector: [1, 1, 1], filter: {} })).toHaveLength(3);
});

test("a filter that Sealdex cannot evaluate is refused by the name of its operator", async () => {
  const vector = await filled();
  const cases: [object, string][] = [
    [{ source: { $regex: "^x" } }, "$regex"],
    [{ source: /^x/ }, "$regex"],
    [{ source: { $not: /^x/ } }, "$regex"],
    [{ tags: { $elemMatch: { $eq: "red" } } }, "$elemMatch"],
    [{ tags: { $size: 1 } }, "$size"],
    [{ $gt: 1 }, "$gt"],
  ];
  for (const [filter, operator] of cases)
    await expect(matching(vector, filter)).rejects.toThrow(`no operator ${operator}`);
  const careless = [{ source: undefined }, { $and: [] }, { $or: [{}] }, { $not: {} }, { page: { $not: 1 } }];
  for (const filter of [...careless, {}] as VectorFilter[]) {
    await expect(vector.deleteVectors({ indexName, filter })).rejects.toMatchObject({ category: "USER" });
  }
  expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 3 });
});

test("an upsert replaces the vectors of a document in one commit", async () => {
  const vector = await filled();
  const ids = await vector.upsert({
    indexName,
    vectors: [[0, 1, 1]],
    metadata: [{ source: "y.md", page: 9 }],
    deleteFilter: { source: "y.md" },
  });
  expect(await matching(vector, { source: "y.md" })).toEqual(ids);
  expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 2 });
});

test("vectors and metadata are updated by id and by filter", async () => {
  const vector = await filled();
  const nearest = async (queryVector: number[]) => {
    const [first] = await vector.query({ indexName, queryVector, topK: 1, includeVector: true });
    return first;
  };
  await vector.updateVector({ indexName, id: "a", update: { vector: [3, 3, 0] } });
  expect(await nearest([1, 1, 0])).toMatchObject({ id: "a", vector: [3, 3, 0], metadata: { page: 1 } });
  await vector.updateVector({ indexName, id: "a", update: { metadata: { page: 4 } } });
  expect(await nearest([1, 1, 0])).toMatchObject({ id: "a", vector: [3, 3, 0], metadata: { page: 4 } });
  expect((await nearest([1, 1, 0]))?.metadata).toEqual({ page: 4 });
  await vector.updateVector({
    indexName,
    filter: { source: "y.md" },
    update: { vector: [0, 7, 7], metadata: { moved: true } },
  });
  expect(await matching(vector, { moved: true })).toEqual(["b", "c"]);
  expect(await nearest([0, 1, 1])).toMatchObject({ vector: [0, 7, 7] });
  await vector.updateVector({ indexName, filter: { moved: true }, update: { metadata: { moved: false } } });
  expect(await matching(vector, { moved: false })).toEqual(["b", "c"]);
  await vector.updateVector({ indexName, id: "unknown", update: { vector: [1, 1, 1] } });
  expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 3 });
  for (const params of [{ update: {} }, {}] as { update: object }[])
    await expect(vector.updateVector({ indexName, id: "a", ...params })).rejects.toThrow(
      "vector or metadata",
    );
  await expect(vector.updateVector({ indexName, filter: {}, update: { vector: [1, 1, 1] } })).rejects.toThrow(
    "ids or a filter",
  );
});

test("texts, namespaces and expiry of items that others stored stay with a new vector", async () => {
  const path = temporaryFolder();
  const indexKey = generateKey();
  await using client = createClient({ indexLocation: { location: "local", path } });
  const index = await client.createIndex({ indexName, indexKey, metric: "squared_euclidean" });
  const item = { id: "n", vector: [2, 0], contents: "A text.", metadata: { page: 1 } };
  await index.upsert([{ ...item, expiresAt: new Date("2100-01-01") }], { namespace: "ann" });
  const vector = openVector(path, indexKey);
  await vector.updateVector({ indexName, filter: { page: 1 }, update: { vector: [0, 2] } });
  const include = ["vector", "contents", "metadata"] as const;
  expect(await index.get(["n"], { include })).toEqual([
    {
      ...item,
      vector: new Float32Array([0, 2]),
      namespace: "ann",
      expiresAt: new Date("2100-01-01"),
    },
  ]);
  expect(await vector.query({ indexName, queryVector: [0, 5] })).toEqual([
    { id: "n", score: 0.25, metadata: { page: 1 }, document: "A text." },
  ]);
  expect(await vector.describeIndex({ indexName })).toEqual({ dimension: 2, count: 1 });
});

test("vectors are deleted by id, by ids and by filter", async () => {
  const vector = await filled();
  await vector.deleteVector({ indexName, id: "unknown" });
  await vector.deleteVector({ indexName, id: "a" });
  expect(await matching(vector, { page: { $gte: 1 } })).toEqual(["b", "c"]);
  await vector.deleteVectors({ indexName, filter: { page: 2 } });
  await vector.deleteVectors({ indexName, ids: ["c", "unknown"] });
  expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 0 });
  for (const target of [{}, { ids: [] }, { ids: ["a"], filter: { page: 1 } }])
    await expect(vector.deleteVectors({ indexName, ...target })).rejects.toThrow("ids or a filter");
});

test("a query without a vector lists as many as are asked for", async () => {
  const vector = openVector();
  await vector.createIndex({ indexName, dimension: 1 });
  const rows = Array.from({ length: 2500 }, (_, i) => i);
  await vector.upsert({
    indexName,
    vectors: rows.map((i) => [i + 1]),
    metadata: rows.map((row) => ({ row })),
  });
  expect(await vector.query({ indexName, filter: { row: { $gte: 0 } }, topK: 2001 })).toHaveLength(2001);
  expect(await vector.query({ indexName, filter: { row: { $gte: 0 } } })).toHaveLength(10);
});

test("a request for something that Sealdex lacks is refused by name", async () => {
  const vector = await filled();
  await expect(vector.createIndex({ indexName: "dots", dimension: 3, metric: "dotproduct" })).rejects.toThrow(
    '"dotproduct" is not supported',
  );
  const sparse = { indices: [0], values: [1] };
  await expect(vector.query({ indexName, queryVector: [1, 0, 0], sparseVector: sparse })).rejects.toThrow(
    "sparseVector",
  );
  await expect(vector.upsert({ indexName, vectors: [[1, 0, 0]], sparseVectors: [sparse] })).rejects.toThrow(
    "sparseVectors",
  );
  await expect(vector.query({ indexName })).rejects.toThrow("queryVector or filter");
  await expect(vector.query({ indexName, queryVector: [1, 0, 0], topK: 0 })).rejects.toMatchObject({
    category: "USER",
  });
  await expect(vector.upsert({ indexName, vectors: [] })).rejects.toMatchObject({ category: "USER" });
  for (const name of ["", "a\nb", "x".repeat(129)]) {
    await expect(vector.createIndex({ indexName: name, dimension: 3 })).rejects.toMatchObject({
      category: "USER",
    });
  }
});

test("a failure names the operation and the index, and neither key nor data", async () => {
  const path = temporaryFolder();
  const key = generateKey();
  const vector = openVector(path, key);
  await vector.createIndex({ indexName, dimension: 3 });
  const failed = await vector
    .upsert({ indexName, vectors: [[12345, 1]], metadata: [{ secret: "confidential" }] })
    .catch((error: unknown) => error);
  expect(failed).toMatchObject({ id: expect.stringContaining("SEALDEX_UPSERT_FAILED") as string });
  expect(failed).toMatchObject({ category: "USER", cause: { code: "dimension_mismatch" } });
  for (const shown of [inspect(failed, { depth: 9 }), inspect(vector, { depth: 9, showHidden: true })]) {
    expect(shown).not.toMatch(/12345|confidential/);
    expect(shown).not.toContain(key);
  }
  const stranger = openVector(path);
  await expect(stranger.describeIndex({ indexName })).rejects.toMatchObject({
    category: "USER",
    cause: { code: "wrong_index_key" },
  });
  await expect(vector.query({ indexName: "unknown", queryVector: [1] })).rejects.toMatchObject({
    cause: { code: "not_found" },
  });
});

test("metadata and filters that are no JSON are the caller's fault, and their fields stay out of errors", async () => {
  const vector = await filled();
  const cyclic: Record<string, unknown> = {};
  cyclic.confidential = cyclic;
  let deep = {};
  for (let i = 0; i < 20_000; i++) deep = { confidential: deep };
  const invalid = { category: "USER", cause: { code: "invalid_request" } };
  for (const metadata of [{ confidential: 1n }, cyclic, deep]) {
    const calls = [
      vector.upsert({ indexName, vectors: [[1, 0, 0]], metadata: [metadata] }),
      vector.updateVector({ indexName, id: "a", update: { metadata } }),
    ];
    for (const call of calls) {
      const failed = await call.catch((error: unknown) => error);
      expect(failed).toMatchObject(invalid);
      expect(inspect(failed, { depth: 9 })).not.toContain("confidential");
    }
  }
  const filters = [cyclic, deep, { page: 1n }, { at: new Date(Number.NaN) }, new Map([["page", 1]])];
  for (const filter of [...filters, { page: new Map([["$eq", 1]]) }])
    await expect(matching(vector, filter)).rejects.toMatchObject(invalid);
  const found = { queryVector: [1, 1, 1], filter: new Map([["page", 1]]) as unknown as VectorFilter };
  await expect(vector.query({ indexName, ...found })).rejects.toMatchObject(invalid);
});

test("metadata may be null, as Mastra's own check allows", async () => {
  const vector = await filled();
  const none = { metadata: null as unknown as undefined };
  await vector.upsert({ indexName, ids: ["d"], vectors: [[1, 0, 0]], ...none });
  expect(await matching(vector, { page: null })).toEqual(["d"]);
});

test("an index that another process replaced is opened again", async () => {
  const path = temporaryFolder();
  const key = generateKey();
  const [first, second] = [openVector(path, key), openVector(path, key)];
  await first.createIndex({ indexName, dimension: 2 });
  await first.upsert({ indexName, vectors: [[1, 0]] });
  expect(await second.query({ indexName, queryVector: [1, 0] })).toHaveLength(1);
  await first.deleteIndex({ indexName });
  await first.createIndex({ indexName, dimension: 3, metric: "euclidean" });
  await first.upsert({ indexName, vectors: [[0, 0, 3]] });
  expect(await second.query({ indexName, queryVector: [0, 0, 2] })).toMatchObject([{ score: 0.5 }]);
});

test("the stored bytes show no metadata", async () => {
  const path = temporaryFolder();
  const vector = openVector(path);
  await vector.createIndex({ indexName, dimension: 2 });
  await vector.upsert({ indexName, vectors: [[1, 0]], metadata: [{ text: "confidential" }] });
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const stored = files.map((file) => readFileSync(join(file.parentPath, file.name), "latin1")).join("");
  expect(stored.length).toBeGreaterThan(100);
  expect(stored).not.toContain("confidential");
});
