/** Which items live in an index of many segments: replaced, deleted and restored ones. */

import { expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { systemClock } from "../../src/state/commit/clock.js";
import { fingerprint } from "../../src/crypto/keys.js";
import { seededRandom } from "../../src/engine/random.js";
import { ShadowTable } from "../../src/query/snapshot/shadow-table.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { fixedRecord, openIndex } from "../protocol/open.js";

test("count and lists of ids agree with a model, whichever segments hold most items", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const random = seededRandom(seed);
    const client = createClient({ indexLocation: createMemoryStore(), automaticTraining: false });
    const index = await client.createIndex({ indexName: "shadows", indexKey: generateKey() });
    const live = new Set<string>();
    for (let step = 0; step < 15; step++) {
      const ids = Array.from({ length: 1 + Math.floor(60 * random()) }, () => `${Math.floor(90 * random())}`);
      if (random() < 0.3) {
        await index.delete({ ids });
        for (const id of ids) live.delete(id);
      } else {
        await index.upsert(ids.map((id) => ({ id, vector: [step, 1] })));
        for (const id of ids) live.add(id);
      }
      expect(await index.count()).toBe(live.size);
      expect(await index.listIds()).toEqual([...live].sort());
    }
    await client.close();
  }
});

test("a shadow table knows the newest segment of each item, and nothing of others", async () => {
  const record = fixedRecord();
  const { index, inner } = openIndex(record, createMemoryStore(), systemClock);
  await inner.log.createFirst();
  const words = (id: string) => new Uint32Array(fingerprint(record.keys.id, id).slice().buffer);
  for (let n = 1; n <= 5; n++) {
    await index.upsert(
      Array.from({ length: 200 }, (_, i) => ({ id: `${i % (200 / n)}-${n === 5 ? 1 : n}`, vector: [n, i] })),
    );
  }
  const { segments } = await inner.snapshots.newest();
  const table = await ShadowTable.build(segments);
  const isNewer = (sequence: number, id: string) => {
    const [w0, w1, w2, w3] = words(id);
    return table.isNewer(sequence, w0, w1, w2, w3);
  };
  expect([0, 1, 4, 5].map((sequence) => isNewer(sequence, "3-1"))).toEqual([true, true, true, false]);
  expect([0, 1, 2].map((sequence) => isNewer(sequence, "77-2"))).toEqual([true, true, false]);
  expect([0, 1].map((sequence) => isNewer(sequence, "150-1"))).toEqual([true, false]);
  expect(isNewer(0, "unknown")).toBe(false);
  expect(table.count).toBe(await index.count());
});
