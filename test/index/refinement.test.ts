/** Indexes whose lists are refined: no answer changes but for the lists that a query probes. */

import { expect, test } from "vitest";
import { systemClock } from "../../src/commit/clock.js";
import { refine } from "../../src/encrypted-index/refine.js";
import { seededRandom } from "../../src/engine/random.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { clustered, gaussian } from "../engine/data.js";
import { rowsOf, squaredL2 } from "../engine/oracle.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";
import { checkVacated, refineAtRandom } from "../protocol/refined.js";

const d = 8;
const record = fixedRecord();

async function begin(): Promise<{ readonly store: BlobStore; readonly one: Opened }> {
  const store = createMemoryStore();
  const one = openIndex(record, store, systemClock);
  await one.inner.log.begin();
  return { store, one };
}

const itemsOf = (vectors: Float32Array, from = 0) =>
  rowsOf(vectors, d).map((vector, i) => ({ id: `${from + i}`, vector }));

/** The ids of the nearest, by comparing with all. */
function nearest(items: ReadonlyMap<string, Float32Array>, query: Float32Array, topK: number): string[] {
  return Array.from(items, ([id, vector]) => ({ id, square: squaredL2(vector, query) }))
    .sort((a, b) => a.square - b.square)
    .slice(0, topK)
    .map(({ id }) => id);
}

test("a refinement splits the lists that new rows made long, moves their rows alone, and leaves the index as it was", async () => {
  const { one } = await begin();
  const { index, inner } = one;
  const first = clustered(3000, d, 40, 1);
  await index.upsert(itemsOf(first));
  await index.train({ nLists: 40 });
  const more = clustered(600, d, 3, 2);
  await index.upsert(itemsOf(more, 3000));
  const before = await inner.log.newest();
  expect(await refine(inner)).toBe(true);
  const after = await inner.log.newest();
  expect(after.model?.name).not.toBe(before.model?.name);
  expect(after.model?.items).toBe(3600);
  expect((await index.describe()).nLists).toBe(48);
  expect(after.segments[0]).toMatchObject({ name: before.segments[0].name, model: after.model?.name });
  expect(after.segments[0].vacated?.rows).toBeGreaterThan(0);
  expect(await checkVacated(inner)).toBeGreaterThan(0);
  expect(await index.count()).toBe(3600);
  const all = new Map([...itemsOf(first), ...itemsOf(more, 3000)].map(({ id, vector }) => [id, vector]));
  let found = 0;
  const queries = [...all.values()].filter((_, i) => i % 36 === 0);
  for (const queryVector of queries) {
    const wanted = nearest(all, queryVector, 10);
    const greedy = await index.query({ queryVector, topK: 10, greedy: true });
    expect(greedy.map(({ id }) => id)).toEqual(wanted);
    const probed = await index.query({ queryVector, topK: 10, nProbes: 0 });
    found += probed.filter(({ id }) => wanted.includes(id)).length;
  }
  expect(found / (10 * queries.length)).toBeGreaterThan(0.93);
  await one.close();
});

test("the same items in the same segments give the same refined model", async () => {
  const centroids: Float32Array[] = [];
  for (let round = 0; round < 2; round++) {
    const { one } = await begin();
    await one.index.upsert(itemsOf(clustered(2000, d, 20, 1)));
    await one.index.train({ nLists: 20 });
    await one.index.upsert(itemsOf(clustered(400, d, 2, 2), 2000));
    expect(await refine(one.inner)).toBe(true);
    centroids.push((await one.inner.snapshots.newest()).model?.centroids ?? new Float32Array());
    await one.close();
  }
  expect(centroids[0]).toEqual(centroids[1]);
});

test.each([1, 2, 3, 4, 5, 6])(
  "whatever is written, replaced, deleted, refined, trained and merged, every item is found, once (%i)",
  async (seed) => {
    const random = seededRandom(seed);
    const { store, one } = await begin();
    const clients = [one, openIndex(record, store, systemClock)];
    const items = new Map<string, Float32Array>();
    const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)];
    const write = async ({ index }: Opened) => {
      const centre = Float32Array.from({ length: d }, () => 2 * gaussian(random));
      const count = Math.ceil(60 * random());
      const batch = new Map(
        Array.from({ length: count }, () => {
          const vector = centre.map((value) => value + 0.3 * gaussian(random));
          return [`${Math.floor(900 * random())}`, vector] as const;
        }),
      );
      await index.upsert(Array.from(batch, ([id, vector]) => ({ id, vector })));
      for (const [id, vector] of batch) items.set(id, vector);
    };
    const remove = async ({ index }: Opened) => {
      const ids = [...items.keys()].filter(() => random() < 0.1);
      await index.delete({ ids });
      for (const id of ids) items.delete(id);
    };
    for (let step = 0; step < 60; step++) {
      const client = pick(clients);
      const kind = Math.floor(10 * random());
      if (step < 3 || kind < 3) await write(client);
      else if (kind === 3) await remove(client);
      else if (kind === 4) await client.index.train({ nLists: 1 + Math.floor(12 * random()) });
      else if (kind === 5) await client.index.compact();
      else if (kind === 6) {
        // While others write: what it did not see stays found.
        const other = pick(clients);
        await Promise.all([refineAtRandom(client.inner, random), write(other), remove(other)]);
      } else if (kind < 9) await refineAtRandom(client.inner, random);
      else {
        const i = clients.indexOf(client);
        await client.close();
        clients[i] = openIndex(record, store, systemClock);
      }
      const { index, inner } = pick(clients);
      await checkVacated(inner);
      expect(await index.count()).toBe(items.size);
      const queryVector = pick([...items.values()]) ?? new Float32Array(d);
      const options = pick([{ greedy: true }, { nProbes: 1000 }, { recall: "exact" as const }]);
      const found = await index.query({ queryVector, topK: 1000, ...options });
      expect(found.map(({ id }) => id)).toEqual(nearest(items, queryVector, 1000));
      const ids = [...items.keys()].slice(0, 20);
      const got = await index.get(ids, { include: ["vector"] });
      expect(got.map(({ id, vector }) => [id, Float32Array.from(vector ?? [])])).toEqual(
        ids.map((id) => [id, items.get(id)]),
      );
    }
    for (const client of clients) await client.close();
  },
);
