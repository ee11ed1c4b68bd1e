/** Calls leave turns of the event loop to timers and other requests: short ones between them, long ones while they run. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { clustered } from "../engine/data.js";
import { rowsOf } from "../engine/oracle.js";
import { onThisThread } from "./on-this-thread.js";
import { turnsDuring } from "../engine/turns.js";

const callsMax = 100_000;

async function openIndex(where: string, maxStalenessMs: number): Promise<VectorIndex> {
  const path = mkdtempSync(join(tmpdir(), "sealdex-event-loop-"));
  const indexLocation =
    where === "local" ? { location: "local" as const, path } : { location: "memory" as const };
  const client = createClient({ indexLocation, maxStalenessMs, automaticTraining: false });
  onTestFinished(async () => {
    await client.close();
    rmSync(path, { recursive: true });
  });
  const index = await client.createIndex({ indexName: "a", indexKey: generateKey(), textIndex: true });
  await index.upsert(
    Array.from({ length: 50 }, (_, i) => ({
      id: `${i}`,
      vector: [i, 1],
      contents: `text ${i}`,
      metadata: { i },
    })),
  );
  await index.train({ nLists: 4 });
  return index;
}

const asked = { queryVector: [3, 1], topK: 3 } as const;
const calls: Record<string, (index: VectorIndex) => Promise<unknown>> = {
  query: (index) => index.query(asked),
  "query with a filter": (index) => index.query({ ...asked, filters: { i: { $lt: 9 } } }),
  "query by words": (index) => index.query({ queryText: "text" }),
  get: (index) => index.get(["3"]),
};

test.each(
  Object.keys(calls).flatMap((name) =>
    (["memory", "local"] as const).flatMap((where) => [0, 3_600_000].map((ms) => [name, where, ms] as const)),
  ),
)(
  "a timer fires while %s is awaited again and again, location %s, staleness %i ms",
  async (name, where, ms) => {
    const index = await openIndex(where, ms);
    const call = calls[name];
    await call(index);
    let fired = false;
    setTimeout(() => (fired = true), 0);
    let made = 0;
    for (; !fired && made < callsMax; made++) await call(index);
    expect(fired).toBe(true);
    expect(made).toBeLessThan(callsMax);
  },
);

const rows = rowsOf(clustered(20_000, 4, 12, 3), 4);
const itemOf = (i: number, contents?: string) => ({
  id: `${i}`,
  vector: rows[i],
  metadata: { i, third: i % 3 },
  ...(contents !== undefined && { contents }),
});
const text = "heron ".repeat(2000);
const texts = (from: number) => Array.from({ length: 400 }, (_, i) => itemOf(from + i, text));
/** A call, and how often other work runs during it at least, if each look at the clock says that a turn has lasted too long. */
const longCalls: readonly [string, number, (index: VectorIndex) => Promise<unknown>][] = [
  ["queries together", 10, (index) => index.query({ queryVectors: rows.slice(0, 64), topK: 5 })],
  ["an exact query", 10, (index) => index.query({ queryVector: rows[3], topK: 400, recall: "exact" })],
  ["a get of large contents", 120, (index) => index.get(texts(0).map(({ id }) => id))],
  ["a filter", 10, (index) => index.count({ filter: { $or: [{ i: 1 }, { third: { $gt: 1 } }] } })],
  ["a query by a phrase", 250, (index) => index.query({ queryText: '+"heron heron"', topK: 400 })],
  ["a write of texts", 400, (index) => index.upsert(texts(400))],
  ["a write of short rows", 13_000, (index) => index.upsert(rows.slice(0, 20_000).map((_, i) => itemOf(i)))],
  ["five trainings", 5000, trainOften],
  ["a compaction", 150, (index) => index.compact()],
];

async function trainOften(index: VectorIndex): Promise<void> {
  for (let i = 0; i < 5; i++) await index.train({ nLists: 10 });
}

async function openWith(textIndex: boolean): Promise<VectorIndex> {
  const client = createClient({ indexLocation: { location: "memory" }, automaticTraining: false });
  onTestFinished(() => client.close());
  return client.createIndex({ indexName: "a", indexKey: generateKey(), textIndex });
}

test.each(longCalls)("other work runs during %s", async (_, least, call) => {
  const index = await openWith(true);
  await index.upsert(texts(0));
  await index.upsert([itemOf(0, text)]);
  const turns = await onThisThread(() => turnsDuring(() => call(index), 10));
  expect(turns).toBeGreaterThanOrEqual(least);
});
