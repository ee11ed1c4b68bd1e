/** A listing whose state is not stored any more says so, and never shows a mixture of states. */

import { expect, test } from "vitest";
import { gc } from "../../src/index/maintenance/gc.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { drain } from "../behavior/listing.js";
import { fixedRecord, openIndex } from "../protocol/open.js";
import { StandingClock } from "../protocol/standing-clock.js";

const historyMs = 15 * 60 * 1000;

async function begun() {
  const clock = new StandingClock();
  const opened = openIndex(fixedRecord(), createMemoryStore(), clock);
  const { index, inner } = opened;
  await inner.log.createFirst();
  // So much that a segment is not read as a whole when it is opened.
  const contents = "x".repeat(500_000);
  const items = ["a", "b", "c", "d"].map((id) => ({ id, vector: [1], contents }));
  for (const item of items) await index.upsert([item]);
  const { cursor = "" } = await index.listItems({ limit: 2, include: [] });
  const looping = index.items({ pageSize: 1 });
  await looping.next();
  await index.upsert([{ id: "b2", vector: [2] }]);
  await index.compact();
  return { ...opened, clock, items, cursor, looping };
}

test("for 15 minutes after the state was replaced its pages can be read", async () => {
  const { index, inner, clock, cursor, looping } = await begun();
  clock.advance(historyMs - 1);
  await gc(inner);
  expect(await index.listItems({ cursor, include: [] })).toEqual({ items: [{ id: "c" }, { id: "d" }] });
  expect((await drain(looping)).map(({ id }) => id)).toEqual(["b", "c", "d"]);
});

test("later, once it was collected, a page and a loop reject with not_found", async () => {
  const { index, inner, cursor, looping } = await begun();
  await gc(inner, { graceMs: 0 });
  const gone = { code: "not_found", message: expect.stringContaining("no longer stored") };
  await expect(index.listItems({ cursor })).rejects.toMatchObject(gone);
  await expect(drain(looping)).rejects.toMatchObject(gone);
  // From the last id on, it goes on with what is there now.
  expect((await drain(index.items({ after: "b" }))).map(({ id }) => id)).toEqual(["b2", "c", "d"]);
});
