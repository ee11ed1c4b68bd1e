/** The option that keeps rows of a trained `ivfflat` out of second lists. */

import { expect, test } from "vitest";
import { systemClock } from "../../src/state/commit/clock.js";
import { createClient, generateKey } from "../../src/core.js";
import { observedDepths } from "../../src/engine/training/held-out.js";
import { seededRandom } from "../../src/engine/random.js";
import { stepLength } from "../../src/engine/recall-curves.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, openIndex } from "../protocol/open.js";

/** Uniform vectors: neighbors lie in many lists, so training finds that second lists pay. */
const n = 12_000;
const d = 16;
const nLists = 300;
const random = seededRandom(1);
const items = Array.from({ length: n }, (_, i) => ({
  id: `${i}`,
  vector: Float32Array.from({ length: d }, random),
}));

/** A trained index: how many blocks of spilled codes it has, and its size. */
async function trainedIndex(spilling?: false) {
  const record = fixedRecord();
  const config = { ...record.definition.config, ...(spilling === false && { spilling }) };
  const { index, inner, close } = openIndex(
    { ...record, definition: { ...record.definition, config } },
    createMemoryStore(),
    systemClock,
  );
  await inner.log.createFirst();
  await index.upsert(items);
  await index.train({ nLists });
  const blocks = await inner.snapshots.read(async ({ segments }) =>
    segments.reduce((sum, { reader }) => sum + reader.footer.spilled.length, 0),
  );
  const { storedBytes } = await index.describe();
  await close();
  return { blocks, storedBytes };
}

test("the rows of a trained index have second lists, in two bytes each, unless spilling is false", async () => {
  const [spilled, plain] = [await trainedIndex(), await trainedIndex(false)];
  expect(spilled.blocks).toBeGreaterThan(0);
  expect(plain.blocks).toBe(0);
  // The number of a list is two bytes; models have a second recall curve, and lengths are padded.
  const depths = observedDepths(n);
  const curve = 4 * depths.length * (1 + stepLength);
  expect(spilled.storedBytes - plain.storedBytes).toBeGreaterThan(2 * n + curve);
  expect(spilled.storedBytes - plain.storedBytes).toBeLessThan(2.25 * n + curve);
});

test("spilling is described if it is false, also after reopening", async () => {
  const store = createMemoryStore();
  for (const spilling of [undefined, true, false]) {
    const address = { indexName: `${spilling}`, indexKey: generateKey() };
    const [creating, reading] = [
      createClient({ indexLocation: store }),
      createClient({ indexLocation: store }),
    ];
    await creating.createIndex({ ...address, indexConfig: { type: "ivfflat", spilling } });
    const described = await (await reading.loadIndex(address)).describe();
    expect(described.spilling).toBe(spilling === false ? false : undefined);
    await Promise.all([creating.close(), reading.close()]);
  }
});
