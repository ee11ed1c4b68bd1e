/** Items that expire: hidden from every call from that moment on, and removed by compaction. */

import { describe, expect, test } from "vitest";
import { exportItems, generateKey, importItems, type Item, type VectorIndex } from "../../src/core.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { seededRandom } from "../../src/engine/random.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { StandingClock } from "../protocol/standing-clock.js";
import { repeats } from "../tier.js";

const textIndex = true;

function newWorld() {
  const store = createMemoryStore();
  const clock = new StandingClock();
  const open = (own = clock) => new EmbeddedClient({ indexLocation: store, automaticTraining: false }, own);
  const options = { indexName: "expiring", indexKey: generateKey() };
  const create = (more: object = {}) => open().createIndex({ ...options, textIndex, ...more });
  /** Milliseconds after the clock's beginning. */
  const at = (ms: number) => 1_800_000_000_000 + ms;
  return { clock, open, options, create, at };
}

const item = (id: string, i: number, expiresAt?: Date | number): Item => ({
  id,
  vector: [i, 1],
  contents: `heron ${id}`,
  metadata: { number: i, kind: "bird" },
  expiresAt,
});

/** The ids that each way of reading finds. */
async function seen(index: VectorIndex, ids: readonly string[]): Promise<Record<string, string[]>> {
  const sorted = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id).sort();
  const filter = { kind: "bird" };
  const items: { id: string }[] = [];
  for await (const one of index.items()) items.push(one);
  return {
    vectors: sorted(await index.query({ queryVector: [0, 1], nProbes: 0 })),
    filtered: sorted(await index.query({ queryVector: [0, 1], filter })),
    words: sorted(await index.query({ queryText: "heron" })),
    both: sorted(await index.query({ queryText: "heron", queryVector: [0, 1] })),
    order: sorted((await index.listItems({ orderBy: { number: "asc" }, filter })).items),
    get: sorted(await index.get(ids)),
    listIds: await index.listIds(),
    listIdsFiltered: await index.listIds({ filter }),
    items: sorted(items),
    count: Array.from({ length: await index.count() }, (_, i) => `${i}`),
    countFiltered: Array.from({ length: await index.count({ filter }) }, (_, i) => `${i}`),
  };
}

async function expectSeen(index: VectorIndex, expected: readonly string[], ids: readonly string[]) {
  for (const [way, found] of Object.entries(await seen(index, ids))) {
    if (way.startsWith("count")) expect([way, found.length]).toEqual([way, expected.length]);
    else expect([way, found]).toEqual([way, expected.toSorted()]);
  }
}

describe("an item that expires", () => {
  test("is there until that moment, and hidden from every call from then on, in each process", async () => {
    const { clock, open, options, create, at } = newWorld();
    const index = await create();
    await index.upsert([item("lasting", 1), item("short", 2, at(1000)), item("date", 3, new Date(at(2000)))]);
    const ids = ["lasting", "short", "date"];
    const other = await open().loadIndex(options);
    clock.advance(999);
    for (const each of [index, other]) await expectSeen(each, ids, ids);
    clock.advance(1);
    for (const each of [index, other]) await expectSeen(each, ["lasting", "date"], ids);
    clock.advance(1000);
    for (const each of [index, other]) await expectSeen(each, ["lasting"], ids);
    await expectSeen(await open().loadIndex(options), ["lasting"], ids);
  });

  test("is returned with its time where metadata are asked for", async () => {
    const { create, at } = newWorld();
    const index = await create();
    await index.upsert([item("a", 1, at(5))]);
    const expiresAt = new Date(at(5));
    expect(await index.get(["a"])).toMatchObject([{ id: "a", expiresAt }]);
    expect(await index.query({ queryVector: [1, 1], include: ["metadata"] })).toMatchObject([{ expiresAt }]);
    expect(await index.query({ queryVector: [1, 1], include: [] })).toEqual([{ id: "a" }]);
  });

  test("counts no more in the scores of words", async () => {
    const { clock, create, at } = newWorld();
    const index = await create();
    const fresh = await create({ indexName: "without" });
    const items = [item("a", 1), item("b heron", 2, at(10)), item("c", 3)];
    await index.upsert(items);
    await fresh.upsert([items[0], items[2]]);
    clock.advance(10);
    const query = { queryText: "heron a" };
    expect(await index.query(query)).toEqual(await fresh.query(query));
  });

  test("hides its older versions, and is removed by compaction, which brings none of them back", async () => {
    const { clock, create, at } = newWorld();
    const index = await create();
    await index.upsert([item("x", 1), item("y", 2)]);
    await index.upsert([item("x", 3, at(10)), item("z", 4, at(10))]);
    clock.advance(10);
    await expectSeen(index, ["y"], ["x", "y", "z"]);
    const before = (await index.describe()).storedBytes;
    await index.compact();
    expect((await index.describe()).storedBytes).toBeLessThan(before);
    await expectSeen(index, ["y"], ["x", "y", "z"]);
    await index.train();
    await expectSeen(index, ["y"], ["x", "y", "z"]);
  });

  test("may be stored again, changed until then, and given another time", async () => {
    const { clock, create, at } = newWorld();
    const index = await create();
    await index.upsert([item("a", 1, at(10)), item("b", 2, at(10)), item("c", 3, at(10))]);
    await index.update({ ids: ["a"] }, { metadata: { more: 1 } });
    await index.upsert([item("b", 2, at(20)), item("c", 3)], { skipUnchanged: true });
    clock.advance(10);
    await expectSeen(index, ["b", "c"], ["a", "b", "c"]);
    expect(await index.update({ ids: ["a"] }, { metadata: { more: 2 } })).toEqual({ matched: 0, updated: 0 });
    expect(await index.upsert([item("a", 1, at(10))], { skipUnchanged: true })).toMatchObject({ stored: 1 });
    await index.upsert([item("a", 9)]);
    clock.advance(10);
    await expectSeen(index, ["a", "c"], ["a", "b", "c"]);
  });

  test("keeps its time in exports", async () => {
    const { clock, create, at } = newWorld();
    const from = await create();
    const into = await create({ indexName: "imported" });
    await from.upsert([item("a", 1, at(10)), item("b", 2)]);
    await importItems({ to: into, lines: exportItems({ from }) });
    await expectSeen(into, ["a", "b"], ["a", "b"]);
    clock.advance(10);
    await expectSeen(into, ["b"], ["a", "b"]);
  });

  test("ends a page at which a cursor stands: the next page follows", async () => {
    const { clock, create, at } = newWorld();
    const index = await create();
    await index.upsert(["a", "b", "c", "d"].map((id, i) => item(id, i, id === "b" ? at(10) : undefined)));
    const orderBy = { number: "asc" } as const;
    const { cursor } = await index.listItems({ orderBy, limit: 2 });
    clock.advance(10);
    const next = await index.listItems({ orderBy, limit: 2, cursor });
    expect(next.items.map(({ id }) => id)).toEqual(["c", "d"]);
  });

  test("is hidden from the start if its time has passed", async () => {
    const { create, at } = newWorld();
    const index = await create();
    await index.upsert([item("a", 1, at(-1)), item("b", 2, 0), item("c", 3)]);
    await expectSeen(index, ["c"], ["a", "b", "c"]);
  });

  test("may have expired before 1970, and the index stays readable", async () => {
    const { create } = newWorld();
    const index = await create();
    await index.upsert([item("a", 1, -1), item("b", 2, new Date("1901-01-01")), item("c", 3)]);
    await expectSeen(index, ["c"], ["a", "b", "c"]);
    await index.compact();
    await expectSeen(index, ["c"], ["a", "b", "c"]);
  });

  test.each([
    ["a text", "tomorrow"],
    ["no number", Number.NaN],
    ["an invalid date", new Date("x")],
    ["too far", 9e15],
  ])("may not expire at %s", async (_, expiresAt) => {
    const index = await newWorld().create();
    await expect(index.upsert([item("a", 1, expiresAt as number)])).rejects.toMatchObject({
      code: "invalid_request",
    });
  });
});

test.each(Array.from({ length: repeats("SEALDEX_EXPIRY_HISTORIES", { fast: 2, all: 12 }) }, (_, i) => i))(
  "expired items are absent after any stores, deletions, merges and reads: seed %i",
  async (seed) => {
    const random = seededRandom(seed);
    const below = (n: number) => Math.floor(random() * n);
    const { clock, open, options, create, at } = newWorld();
    const indexes = [await create(), await open().loadIndex(options)];
    const model = new Map<string, Item>();
    const ids = Array.from({ length: 24 }, (_, i) => `i${i}`);
    for (let step = 0; step < 40; step++) {
      const index = indexes[below(2)];
      const action = below(10);
      if (action < 5) {
        const items = new Map<string, Item>();
        for (let n = 1 + below(6); n > 0; n--) {
          const id = ids[below(ids.length)];
          items.set(id, item(id, below(100), random() < 0.6 ? at(clock.ms + below(8)) : undefined));
        }
        await index.upsert([...items.values()]);
        for (const [id, one] of items) model.set(id, one);
      } else if (action === 5) {
        const id = ids[below(ids.length)];
        await index.delete({ ids: [id] });
        model.delete(id);
      } else if (action === 6) {
        await index.compact();
      } else if (action === 7) {
        await index.train({ nLists: 2 });
      } else {
        clock.advance(1 + below(4));
      }
      const live = [...model.values()].filter(
        ({ expiresAt }) => Number(expiresAt ?? Infinity) > at(clock.ms),
      );
      await expectSeen(
        indexes[below(2)],
        live.map(({ id }) => id),
        ids,
      );
    }
  },
);
