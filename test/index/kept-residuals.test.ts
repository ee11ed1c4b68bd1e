/** Which rows of an index of codes keep their residuals, and for how long. Read by a reader that has nothing of the library's code. */

import { afterEach, describe, expect, test } from "vitest";
import { type Client, createClient, generateKey, type IndexConfigInput } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { uniform } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { readIndex, type ReadItem } from "../format/reader.js";

const d = 128;
const vectors = rowsOf(uniform(6000, d, 3), d);
const types: [string, IndexConfigInput][] = [
  ["ivf", { type: "ivf" }],
  ["ivfpq", { type: "ivfpq", pqDim: 16, pqBits: 8 }],
];
const clients: Client[] = [];
afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

async function open(indexConfig: IndexConfigInput) {
  const store = createMemoryStore();
  const client = createClient({ indexLocation: store, automaticTraining: false });
  clients.push(client);
  const key = generateKey();
  const index = await client.createIndex({ indexName: "kept", indexKey: key, indexConfig });
  /** Items that keep their residuals, by id. */
  const kept = async () => {
    const names = await store.list("");
    const blobs = await Promise.all(names.map((name) => store.read(name)));
    const stored = new Map(names.map((name, i) => [name, blobs[i] ?? new Uint8Array()]));
    const found = readIndex(stored, stored, "kept", key);
    return new Map([...found.items].filter(([, { residual }]) => residual !== undefined));
  };
  return { index, kept };
}

function items(from: number, to: number) {
  return vectors.slice(from, to).map((vector, i) => ({ id: `${from + i}`, vector }));
}

function bitsOf(rows: ReadonlyMap<string, ReadItem>, ids: Iterable<string> = rows.keys()) {
  return Object.fromEntries(
    Array.from(ids, (id) => [id, [rows.get(id)?.reference, rows.get(id)?.residual] as const]),
  );
}

/** Bytes of row number, scale and components, of rows with so many bytes of codes. */
const shareOf = (codeBytes: number) => (0.045 * (codeBytes + 80)) / (d + 8);
const codeBytes = { ivf: 12 + 320 / 8, ivfpq: 12 + 16 };

describe.each(types)("an index of %s", (type, indexConfig) => {
  test("keeps residuals of a share of the items, the same ones bit by bit through compaction and training", async () => {
    const { index, kept } = await open(indexConfig);
    await index.upsert(items(0, 1500));
    expect(await kept()).toEqual(new Map());
    await index.train({ nLists: 8 });
    await index.upsert(items(1500, 3000));
    const before = await kept();
    const expected = 3000 * shareOf(codeBytes[type as "ivf"]);
    expect(before.size).toBeGreaterThan(expected / 2);
    expect(before.size).toBeLessThan(2 * expected);
    expect([...before.keys()].some((id) => Number(id) < 1500)).toBe(true);
    expect([...before.keys()].some((id) => Number(id) >= 1500)).toBe(true);
    await index.compact();
    expect(bitsOf(await kept())).toEqual(bitsOf(before));
    // The quantizer grows with the index: codes keep their meaning, and rows their residuals.
    await index.upsert(items(3000, 6000));
    await index.train();
    const after = await kept();
    expect(bitsOf(after, before.keys())).toEqual(bitsOf(before));
    await index.train({ nLists: 20 });
    expect(bitsOf(await kept())).toEqual(bitsOf(after));
  });

  test("drops the residual of an item that is deleted or replaced once its segment is rewritten", async () => {
    const { index, kept } = await open(indexConfig);
    await index.upsert(items(0, 1500));
    await index.train({ nLists: 8 });
    const before = await kept();
    const [deleted, replaced, ...others] = before.keys();
    await index.delete({ ids: [deleted] });
    await index.upsert([{ id: replaced, vector: vectors[2000] }]);
    await index.compact();
    const after = await kept();
    expect([...after.keys()].sort()).toEqual([replaced, ...others].sort());
    expect(after.get(replaced)?.residual).not.toEqual(before.get(replaced)?.residual);
    expect(bitsOf(after, others)).toEqual(bitsOf(before, others));
  });

  test("keeps none of items in namespaces, which training does not learn from", async () => {
    const { index, kept } = await open(indexConfig);
    await index.upsert(items(0, 600));
    await index.upsert(items(0, 600), { namespace: "own" });
    await index.train({ nLists: 4 });
    await index.upsert(items(600, 1200), { namespace: "own" });
    await index.compact();
    const ids = [...(await kept()).keys()];
    expect(ids.length).toBeGreaterThan(0);
    expect(ids.filter((id) => id.startsWith("own/"))).toEqual([]);
  });
});

test("of many items a smaller share keeps residuals once what codes mean is learned of more", async () => {
  // Of few components more than a thousand could be kept.
  const small = rowsOf(uniform(8000, 8, 4), 8).map((vector, i) => ({ id: `${i}`, vector }));
  const { index, kept } = await open({ type: "ivf" });
  await index.upsert(small.slice(0, 2000));
  await index.train();
  await index.upsert(small.slice(2000));
  const before = await kept();
  expect(before.size).toBeGreaterThan(2000);
  await index.train();
  const after = await kept();
  expect(Math.abs(after.size - 1000)).toBeLessThan(150);
  for (const [id, { residual }] of after) expect(before.get(id)?.residual).toEqual(residual);
});

test("vectors themselves, of an index that keeps them, keep no residuals", async () => {
  const { index, kept } = await open({ type: "ivfflat" });
  await index.upsert(items(0, 600));
  await index.train({ nLists: 4 });
  expect(await kept()).toEqual(new Map());
});
