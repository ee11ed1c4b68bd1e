/** Calls that are answered from memory, one after another, leave turns of the event loop to timers and other requests. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createClient, generateKey, type VectorIndex } from "../../src/core.js";

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
