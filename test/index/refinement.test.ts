/** Indexes whose lists are refined: no answer changes but for the lists that a query probes. */

import { expect, test } from "vitest";
import { systemClock } from "../../src/commit/clock.js";
import { refine } from "../../src/encrypted-index/refine.js";
import { seededRandom } from "../../src/engine/random.js";
import { allocatedBytes } from "../../src/engine/kernels/memory.js";
import { spilledSegments } from "../../src/search/spilled-segments.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { defineText } from "../../src/text/define-text.js";
import { clustered, gaussian } from "../engine/data.js";
import { rowsOf, squaredL2 } from "../engine/oracle.js";
import { fixedRecord, type Opened, openIndex } from "../protocol/open.js";
import { checkVacated, refineAtRandom } from "../protocol/refined.js";
import { StandingClock } from "../protocol/standing-clock.js";

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
    await one.index.upsert(itemsOf(clustered(2000, d, 20, 3)));
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

test("queries that find rows in second lists find them after a refinement, and each once", async () => {
  const { one } = await begin();
  const { index, inner } = one;
  const random = seededRandom(3);
  const dimension = 16;
  const vectors = Array.from({ length: 13_500 }, () => Float32Array.from({ length: dimension }, random));
  const items = vectors.map((vector, i) => ({ id: `${i}`, vector }));
  await index.upsert(items.slice(0, 12_000));
  await index.train({ nLists: 300 });
  await index.upsert(items.slice(12_000));
  const all = new Map(items.map(({ id, vector }) => [id, vector]));
  const queries = vectors.filter((_, i) => i % 135 === 0);
  const recall = async () => {
    let found = 0;
    for (let round = 0; round < 2; round++) {
      found = 0;
      for (const queryVector of queries) {
        const ids = (await index.query({ queryVector, topK: 10, nProbes: 0 })).map(({ id }) => id);
        expect(new Set(ids).size).toBe(10);
        found += nearest(all, queryVector, 10).filter((id) => ids.includes(id)).length;
      }
      await index.prefetch();
    }
    return found / (10 * queries.length);
  };
  const spilled = async () => {
    const snapshot = await inner.snapshots.newest();
    const { segments } = spilledSegments(snapshot);
    return snapshot.stored.map((segment) => segments.includes(segment));
  };
  expect(await spilled()).toContain(true);
  expect(await refine(inner)).toBe(true);
  expect(await checkVacated(inner)).toBeGreaterThan(0);
  // Codes of rows in second lists that have other centroids now say nothing.
  const { stored } = await inner.snapshots.newest();
  const outdated = stored.map(
    ({ ref, reader }) => reader.footer.spilled.length > 0 && ref.vacated !== undefined,
  );
  expect(outdated).toContain(true);
  for (const [i, isSpilled] of (await spilled()).entries()) expect(isSpilled && outdated[i]).toBe(false);
  expect(await recall()).toBeGreaterThan(0.93);
  await index.compact();
  expect(await spilled()).toEqual([true]);
  expect(await recall()).toBeGreaterThan(0.93);
  await one.close();
});

test("items with texts that expire are as without a refinement, also for a process whose clock is late", async () => {
  const store = createMemoryStore();
  const withTexts = fixedRecord(defineText({}));
  const clock = new StandingClock();
  const late = new StandingClock();
  const [one, other] = [openIndex(withTexts, store, clock), openIndex(withTexts, store, late)];
  await one.inner.log.begin();
  const live = new Set<string>();
  for (let from = 0; from < 300; from += 100) {
    const items = Array.from({ length: 100 }, (_, i) => ({
      id: `${from + i}`,
      vector: [from, i % 7, (from + i) % 11],
      contents: `heron ${from + i}`,
      ...(i % 4 === 0 && { expiresAt: clock.wall() + 1000 }),
    }));
    await one.index.upsert(items);
    for (const { id, expiresAt } of items) if (expiresAt === undefined) live.add(id);
    if (from === 0) await one.index.train({ nLists: 5 });
  }
  clock.advance(2000);
  const random = seededRandom(2);
  for (let round = 0; round < 4; round++) {
    expect(await refineAtRandom(one.inner, random)).toBe(true);
    await checkVacated(one.inner);
    const ids = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id).sort();
    const wanted = [...live].sort();
    expect(ids(await one.index.query({ queryVector: [0, 0, 0], topK: 1000, greedy: true }))).toEqual(wanted);
    expect(ids(await one.index.query({ queryText: "heron", topK: 1000 }))).toEqual(wanted);
    expect(await one.index.listIds()).toEqual(wanted);
    const [some] = [...live];
    expect(ids(await one.index.query({ queryText: some, topK: 10 }))).toEqual([some]);
    const seen = ids(await other.index.query({ queryVector: [0, 0, 0], topK: 1000, greedy: true }));
    expect(await other.index.listIds()).toEqual(seen);
    await one.index.upsert([{ id: `new ${round}`, vector: [round, 1, 2], contents: "heron" }]);
    live.add(`new ${round}`);
  }
  await Promise.all([one.close(), other.close()]);
});

test.each(["/segment/", "/model/", "/manifest/"])(
  "a refinement that is aborted before it stores %s leaves nothing behind",
  async (kind) => {
    const memory = allocatedBytes();
    const store = createMemoryStore();
    const abort = new AbortController();
    let isArmed = false;
    const aborting: BlobStore = {
      ...store,
      create(key, bytes, options) {
        if (isArmed && key.includes(kind)) abort.abort(new Error("enough"));
        return store.create(key, bytes, options);
      },
    };
    const one = openIndex(record, aborting, systemClock);
    await one.inner.log.begin();
    await one.index.upsert(itemsOf(clustered(2000, d, 20, 1)));
    await one.index.train({ nLists: 20 });
    await one.index.upsert(itemsOf(clustered(300, d, 2, 2), 2000));
    const stored = await store.list("");
    isArmed = true;
    const refining = refine(one.inner, abort.signal);
    if (kind === "/manifest/") {
      // Too late: the commit is under way.
      expect(await refining).toBe(true);
    } else {
      await expect(refining).rejects.toThrow("enough");
      expect(await store.list("")).toEqual(stored);
    }
    expect(await one.index.count()).toBe(2300);
    await checkVacated(one.inner);
    await one.close();
    expect(allocatedBytes()).toBe(memory);
  },
);

test("processes that refine at once leave one model, and every item once", async () => {
  const { store, one } = await begin();
  await one.index.upsert(itemsOf(clustered(2000, d, 20, 1)));
  await one.index.train({ nLists: 20 });
  await one.index.upsert(itemsOf(clustered(300, d, 2, 2), 2000));
  const clients = [one, openIndex(record, store, systemClock), openIndex(record, store, systemClock)];
  await Promise.all(clients.map(({ inner }) => refine(inner)));
  expect(await checkVacated(one.inner)).toBeGreaterThan(0);
  const { segments, model } = await one.inner.log.newest();
  expect(segments.map((segment) => segment.model)).toEqual(segments.map(() => model?.name));
  for (const { index } of clients) expect(await index.count()).toBe(2300);
  for (const client of clients) await client.close();
});
