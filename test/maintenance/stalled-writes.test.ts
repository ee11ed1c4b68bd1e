/** Writes that come faster than small segments are merged wait for the merge, so that segments cannot become ever more. */

import { expect, onTestFinished, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { fanIn } from "../../src/index/open/merge-policy.js";
import { createMemoryStore } from "../../src/storage/memory.js";

/** Larger than the segment of one item, smaller than that of eight. */
const mergedBytes = 60_000;
const item = (i: number) => ({ id: `${i}`, vector: [i, 1], contents: `${i} `.repeat(5000) });

/** An index with a merge that cannot go on, and as many segments that are due as do not make writes wait. */
async function heldUp() {
  const store = createMemoryStore();
  let openGate = () => {};
  const gate = new Promise<void>((resolve) => (openGate = resolve));
  let reach = () => {};
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const events: ("merged" | "written")[] = [];
  const create: typeof store.create = async (key, bytes, ...rest) => {
    const isSegment = key.includes("/segment/");
    if (isSegment && bytes.length > mergedBytes) {
      reach();
      await gate;
      events.push("merged");
    } else if (isSegment) events.push("written");
    return store.create(key, bytes, ...rest);
  };
  const client = createClient({ indexLocation: { ...store, create } });
  onTestFinished(() => client.close());
  const index = await client.createIndex({ indexName: "stalled", indexKey: generateKey() });
  for (let i = 0; i < fanIn; i++) await index.upsert([item(i)]);
  // The merge takes these; the write that runs it comes after it.
  const merging = index.upsert([item(fanIn)]);
  await reached;
  for (let i = 1; i <= 3 * fanIn; i++) await index.upsert([item(fanIn + i)]);
  return { client, index, merging, events, written: 4 * fanIn + 1, openGate };
}

test("while a merge is held up, writes go on until four times as many segments are due, and then wait for it", async () => {
  const { client, index, merging, events, written, openGate } = await heldUp();
  const other = await client.createIndex({ indexName: "other", indexKey: generateKey() });
  expect(events).toEqual(Array.from({ length: 4 * fanIn }, () => "written"));
  const waiting = index.upsert([item(written)]);
  // Had it not to wait, it would be done before these are.
  for (let i = 0; i < 5; i++) await other.upsert([item(i)]);
  expect(events.length).toBe(4 * fanIn + 5);
  openGate();
  await Promise.all([merging, waiting]);
  expect(events[4 * fanIn + 5]).toBe("merged");
  expect(await index.count()).toBe(written + 1);
});

test("a write that waits for a merge ends if its signal aborts, and wrote nothing", async () => {
  const { index, merging, written, openGate } = await heldUp();
  const stopping = new AbortController();
  const waiting = index.upsert([item(written)], { signal: stopping.signal });
  stopping.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  openGate();
  await merging;
  expect(await index.count()).toBe(written);
});
