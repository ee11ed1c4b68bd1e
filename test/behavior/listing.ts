/** How items are counted and listed, wherever an index runs: a part of the suite that every index passes. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Filter, generateKey, type Item, type VectorIndex } from "../../src/core.js";
import { compileFilter } from "../../src/api/filter/compile.js";
import { seededRandom } from "../../src/engine/random.js";
import type { Service } from "./behavior.js";

const filters: readonly Filter[] = [
  { year: 2001 },
  { year: { $gte: 2005 } },
  { "author.name": { $in: ["Ada", "Åsa"] } },
  { tags: "t1", year: { $lt: 2008 } },
  { year: { $exists: false } },
  { $or: [{ year: 2000 }, { tags: "t2" }] },
  { year: "never" },
  {},
];

export function listingBehaviour(name: string, open: () => Promise<Service>): void {
  describe(`listing ${name}`, () => {
    let service: Service;
    let made = 0;
    beforeAll(async () => {
      service = await open();
    });
    afterAll(() => service.close());

    function newIndex(): Promise<VectorIndex> {
      return service.client.createIndex({ indexName: `listing ${made++}`, indexKey: generateKey() });
    }

    test("counts and lists matching items in the order of ids, after replacements and deletions", async () => {
      const index = await newIndex();
      const random = seededRandom(7);
      const live = new Map<string, Item>();
      for (let round = 0; round < 6; round++) {
        const items = Array.from({ length: 40 }, () => randomItem(random));
        await index.upsert(items);
        for (const item of items) live.set(item.id, item);
        const deleted = [...live.keys()].filter(() => random() < 0.15);
        await index.delete({ ids: deleted });
        for (const id of deleted) live.delete(id);
        if (round === 3) await index.compact();
      }
      for (const filter of filters) {
        const { matches } = compileFilter(filter);
        const expected = [...live.values()].filter((item) => matches(item.metadata ?? {}));
        const ids = expected.map(({ id }) => id).sort();
        expect(await index.count({ filter })).toBe(ids.length);
        expect(await index.listIds({ filter })).toEqual(ids);
        const items = await drain(index.items({ filter, pageSize: 7 }));
        expect(items.map(({ id }) => id)).toEqual(ids);
        for (const { id, metadata, contents, vector } of items) {
          const { vector: stored, ...rest } = live.get(id) as Item;
          expect({ id, metadata, contents }).toEqual({ metadata: {}, contents: undefined, ...rest });
          expect([...(vector ?? [])]).toEqual([...(stored ?? [])]);
        }
      }
      expect(await index.listIds({ filter: { year: { $gte: 2000 } }, limit: 3, after: "m" })).toEqual(
        [...live.values()]
          .filter(({ id, metadata }) => id > "m" && (metadata as { year?: number }).year !== undefined)
          .map(({ id }) => id)
          .sort()
          .slice(0, 3),
      );
    });

    test("all pages show the state of the first one, whatever is written meanwhile", async () => {
      const index = await newIndex();
      const ids = Array.from({ length: 25 }, (_, i) => `item ${String.fromCharCode(97 + i)}`);
      const item = (id: string, state: string) => ({ id, vector: [1, 2], metadata: { state } });
      await index.upsert(ids.map((id) => item(id, "old")));
      const filter = { state: "old" };
      const looping = index.items({ pageSize: 5, include: ["metadata"] });
      const first = await index.listItems({ limit: 5, filter });
      const seen = [(await looping.next()).value];
      const disturb: readonly (() => Promise<unknown>)[] = [
        () => index.upsert(["item", "item k2", "zzz"].map((id) => item(id, "old"))),
        () => index.delete({ ids: ids.slice(10, 12) }),
        () => index.upsert(ids.slice(15).map((id) => item(id, "new"))),
        async () => {
          await index.compact();
          await index.train({ nLists: 2 });
        },
      ];
      const listed = [...first.items];
      for (let page = first; page.cursor !== undefined;) {
        await disturb[listed.length / 5 - 1]();
        page = await index.listItems({ limit: 5, filter, cursor: page.cursor });
        listed.push(...page.items);
      }
      for await (const next of looping) seen.push(next);
      expect(listed.map(({ id }) => id)).toEqual(ids);
      expect(seen).toEqual(ids.map((id) => ({ id, metadata: { state: "old" } })));
      // A listing that begins now shows the present items.
      expect(await index.count({ filter })).toBe(15 + 3 - 2);
    });

    test("leaving the loop ends the listing; a new one begins anew", async () => {
      const index = await newIndex();
      await index.upsert(Array.from({ length: 20 }, (_, i) => ({ id: `${i}`, vector: [i] })));
      for (let round = 0; round < 3; round++) {
        for await (const { id } of index.items({ pageSize: 1, include: [] })) {
          expect(id).toBe("0");
          break;
        }
      }
      expect(await drain(index.items({ after: "8", include: [] }))).toEqual([{ id: "9" }]);
      expect(await drain((await newIndex()).items())).toEqual([]);
      expect(await (await newIndex()).listItems()).toEqual({ items: [] });
    });

    test("many matches are gone through id by id, few are sorted: both give the same", async () => {
      const index = await newIndex();
      const items = Array.from({ length: 3000 }, (_, i) => ({
        id: `${(i * 7919) % 3000}`,
        vector: [i],
        metadata: { even: i % 2 === 0, rare: i % 100 === 0, whole: true },
      }));
      await index.upsert(items.slice(0, 1500));
      await index.upsert(items.slice(1000));
      for (const field of ["even", "rare", "whole"] as const) {
        const ids = items.filter(({ metadata }) => metadata[field]).map(({ id }) => id);
        const listed = await drain(index.items({ filter: { [field]: true }, pageSize: 999, include: [] }));
        expect(listed.map(({ id }) => id)).toEqual(ids.sort());
        expect(await index.count({ filter: { [field]: true } })).toBe(ids.length);
      }
    });

    test("a page of large items ends early, and nothing is lost", async () => {
      const index = await newIndex();
      const contents = "x".repeat(1024 * 1024);
      await index.upsert(Array.from({ length: 40 }, (_, i) => ({ id: `${10 + i}`, vector: [i], contents })));
      const first = await index.listItems({ limit: 40, include: ["contents"] });
      expect(first.items.length).toBeLessThan(40);
      const rest = await drain(index.items({ after: first.items.at(-1)?.id, include: ["contents"] }));
      expect(first.items.length + rest.length).toBe(40);
      const second = await index.listItems({ limit: 40, include: [], cursor: first.cursor });
      expect(second.items.map(({ id }) => id)).toEqual(rest.map(({ id }) => id));
      expect(second.cursor).toBeUndefined();
    });

    test("refuses invalid cursors, and options that contradict one", async () => {
      const index = await newIndex();
      await index.upsert(["a", "b", "c"].map((id) => ({ id, vector: [1] })));
      const { cursor = "" } = await index.listItems({ limit: 1 });
      for (const options of [
        { cursor: "" },
        { cursor: "a" },
        { cursor: `${cursor}=` },
        { cursor: `0${cursor}` },
        { cursor, after: "a" },
        { limit: 0 },
        { limit: 10_001 },
        { include: ["distance"] },
        { filter: { $wrong: 1 } },
      ]) {
        const attempt = index.listItems(options as never);
        await expect(attempt, JSON.stringify(options)).rejects.toMatchObject({ code: "invalid_request" });
      }
      await expect(index.items({ pageSize: 0 }).next()).rejects.toMatchObject({ code: "invalid_request" });
      // Well-formed, and of a state that is not this index's.
      const [version, state, after] = cursor.split(".");
      for (const foreign of [
        `${Number(version) + 50}.${"A".repeat(22)}.${after}`,
        `1.${state.slice(0, -1)}_.${after}`,
      ]) {
        await expect(index.listItems({ cursor: foreign })).rejects.toMatchObject({ code: "not_found" });
      }
    });
  });
}

export async function drain<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

function randomItem(random: () => number): Item {
  const pick = (n: number) => Math.floor(random() * n);
  const id = String.fromCharCode(97 + pick(26), 97 + pick(4)) + ["", " ü", "\u{1f600}"][pick(3)];
  return {
    id,
    vector: [pick(9), pick(9)],
    ...(pick(2) === 0 && { contents: `text of ${id}` }),
    metadata: {
      ...(pick(4) > 0 && { year: 2000 + pick(10) }),
      tags: Array.from({ length: pick(3) }, () => `t${pick(4)}`),
      ...(pick(3) === 0 && { author: { name: ["Ada", "Åsa", "Bo"][pick(3)] } }),
    },
  };
}
