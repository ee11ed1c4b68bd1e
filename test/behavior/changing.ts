/** Updates of metadata and upserts that depend on stored items, wherever an index runs. */

import type { ItemChange } from "../../src/api/vector-index.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateKey, type IndexConfigInput, type Item, type VectorIndex } from "../../src/core.js";
import type { Service } from "./behavior.js";
import { drain } from "./listing.js";
import { refusal } from "../outcome.js";

const types: readonly IndexConfigInput[] = [
  { type: "ivfflat" },
  { type: "ivf" },
  { type: "ivfpq", pqDim: 2, pqBits: 4 },
];

export function changingBehaviour(name: string, open: () => Promise<Service>): void {
  describe(`changing items ${name}`, () => {
    let service: Service;
    let made = 0;
    beforeAll(async () => {
      service = await open();
    });
    afterAll(() => service.close());

    async function newIndex(items: readonly Item[] = [], options = {}): Promise<VectorIndex> {
      const address = { indexName: `changing ${made++}`, indexKey: generateKey() };
      const index = await service.client.createIndex({ ...address, ...options });
      await index.upsert(items);
      return index;
    }
    const three: readonly Item[] = [
      {
        id: "a",
        vector: [1, 0],
        contents: "first",
        metadata: { year: 2020, draft: true, by: { name: "Ada" } },
      },
      { id: "b", vector: [0, 1], contents: "second", metadata: { year: 2021, draft: true } },
      { id: "c", vector: [5, 5], metadata: { year: 2022 } },
    ];
    const metadataOf = async (index: VectorIndex) =>
      Object.fromEntries((await drain(index.items())).map(({ id, metadata }) => [id, metadata]));

    test("update sets fields, removes fields, or replaces all, and leaves vectors and contents", async () => {
      const index = await newIndex(three);
      const before = await drain(index.items({ include: ["vector", "contents"] }));
      expect(
        await index.update({ ids: ["a", "nobody", "a"] }, { metadata: { draft: false, by: { age: 36 } } }),
      ).toEqual({ matched: 1, updated: 1 });
      expect(await index.update({ filter: { draft: true } }, { unset: ["draft", "none"] })).toEqual({
        matched: 1,
        updated: 1,
      });
      expect(
        await index.update({ ids: ["c"] }, { metadata: { only: [null, { x: 1 }] }, replace: true }),
      ).toEqual({ matched: 1, updated: 1 });
      expect(await metadataOf(index)).toEqual({
        a: { year: 2020, draft: false, by: { age: 36 } },
        b: { year: 2021 },
        c: { only: [null, { x: 1 }] },
      });
      expect(await drain(index.items({ include: ["vector", "contents"] }))).toEqual(before);
      const found = await index.query({ queryVector: [1, 0], topK: 3, filter: { draft: false } });
      expect(found).toEqual([{ id: "a", distance: 0 }]);
      expect(await index.count({ filter: { "only.x": 1 } })).toBe(1);
      expect(await index.count()).toBe(3);
    });

    test("an update that changes nothing writes nothing, and says so", async () => {
      const index = await newIndex(three);
      const anchor = await index.anchor();
      for (const change of [{ metadata: { year: 2020 } }, { unset: ["none"] }] as ItemChange[]) {
        expect(await index.update({ ids: ["a"] }, change)).toEqual({ matched: 1, updated: 0 });
      }
      expect(await index.update({ ids: ["z"] }, { metadata: { a: 1 } })).toEqual({ matched: 0, updated: 0 });
      expect(await index.update({ filter: { year: 1 } }, { unset: ["a"] })).toEqual({
        matched: 0,
        updated: 0,
      });
      expect(await index.update({ ids: [] }, { unset: ["a"] })).toEqual({ matched: 0, updated: 0 });
      expect(await index.anchor()).toBe(anchor);
    });

    test("everything is updated if that is asked for, and by no filter that happens to match everything", async () => {
      const index = await newIndex(three);
      await expect(index.update({ filter: {} }, { metadata: { x: 1 } })).rejects.toMatchObject(
        refusal("invalid_request", "updateAll: true"),
      );
      expect(await index.update({ updateAll: true }, { metadata: { x: 1 } })).toEqual({
        matched: 3,
        updated: 3,
      });
      expect(await index.count({ filter: { x: 1 } })).toBe(3);
    });

    test("fields of odd names are fields like any other", async () => {
      const odd = JSON.parse('{"__proto__":{"y":1},"constructor":2,"a.b":3,"":4}') as object;
      const index = await newIndex([{ id: "a", vector: [1], metadata: { a: { b: 0 }, kept: true } }]);
      await index.update({ ids: ["a"] }, { metadata: odd });
      const [{ metadata }] = await index.get(["a"]);
      expect(JSON.stringify(metadata)).toBe(
        '{"a":{"b":0},"kept":true,"__proto__":{"y":1},"constructor":2,"a.b":3,"":4}',
      );
      await index.update({ ids: ["a"] }, { unset: ["__proto__", "constructor", "a.b", ""] });
      expect(JSON.stringify((await index.get(["a"]))[0].metadata)).toBe('{"a":{"b":0},"kept":true}');
    });

    test("changes that cannot be are refused and change nothing", async () => {
      const index = await newIndex(three);
      const ids = { ids: ["a"] };
      for (const [selection, change, message] of [
        [ids, {}, /neither/],
        [ids, { metadata: null }, /neither/],
        [ids, { replace: true }, /^replace/],
        [ids, { metadata: [1] }, /^metadata/],
        [ids, { metadata: { at: new Date() } }, /a Date/],
        [ids, { metadata: { a: 1 }, unset: ["a"] }, /^unset\[0\]/],
        [ids, { metadata: { a: 1 }, unset: ["b"], replace: true }, /^unset/],
        [ids, { unset: "draft" }, /^unset/],
        [ids, { unset: [1] }, /^unset\[0\]/],
        [ids, { metadata: { a: 1 }, replace: "yes" }, /^replace/],
        [ids, { set: { a: 1 } }, /unknown property "set"/],
        [{}, { unset: ["a"] }, /got none/],
        [{ ids: ["a"], filter: { year: 1 } }, { unset: ["a"] }, /ids and filter/],
        [{ updateAll: false }, { unset: ["a"] }, /^updateAll/],
        [{ ids: [1] }, { unset: ["a"] }, /^ids\[0\]/],
        [{ filter: { year: { $near: 1 } } }, { unset: ["a"] }, /\$near/],
        // It is too long together with the stored metadata.
        [ids, { metadata: { text: "x".repeat(65_500) } }, /65536 bytes/],
      ] as const) {
        const attempt = index.update(selection as never, change as never);
        await expect(attempt, JSON.stringify(change).slice(0, 100)).rejects.toMatchObject({
          code: "invalid_request",
          message: expect.stringMatching(message),
        });
      }
      expect(await metadataOf(index)).toMatchObject({ a: three[0].metadata, b: three[1].metadata });
    });

    test.each(types)(
      "an update keeps the vectors or codes of a trained index of type $type",
      async (config) => {
        const items = Array.from({ length: 600 }, (_, i) => ({
          id: `${i}`,
          vector: [Math.sin(i), Math.cos(3 * i), i % 7, i % 11],
          contents: `text ${i}`,
          metadata: { group: i % 6 },
        }));
        const index = await newIndex(items, { indexConfig: { dimension: 4, nLists: 4, ...config } });
        await index.train({ nLists: 4 });
        await index.upsert(items.slice(0, 50).map((item) => ({ ...item, metadata: { group: 9 } })));
        const decoded = async () => drain(index.items({ include: ["decoded", "contents"] }));
        const before = await decoded();
        const matched = await index.count({ filter: { group: { $lt: 2 } } });
        expect(await index.update({ filter: { group: { $lt: 2 } } }, { metadata: { seen: true } })).toEqual({
          matched,
          updated: matched,
        });
        expect(await decoded()).toEqual(before);
        await index.compact();
        expect(await decoded()).toEqual(before);
        expect(await index.count({ filter: { seen: true, group: { $lt: 2 } } })).toBe(matched);
        const [nearest] = await index.query({
          queryVector: items[66].vector,
          topK: 1,
          nProbes: 0,
          filter: { seen: true },
        });
        expect(nearest).toBeDefined();
      },
    );

    test("all chunks of a document are replaced at once, whatever their number", async () => {
      const chunk = (id: string, source: string) => ({ id, vector: [1, 2], metadata: { source } });
      const index = await newIndex([
        chunk("a#0", "a"),
        chunk("a#1", "a"),
        chunk("a#2", "a"),
        chunk("b#0", "b"),
      ]);
      const deleteFilter = { source: "a" };
      expect(await index.upsert([chunk("a#0", "a"), chunk("a#9", "a")], { deleteFilter })).toEqual({
        stored: 2,
        unchanged: 0,
        deleted: 2,
      });
      expect(await index.listIds()).toEqual(["a#0", "a#9", "b#0"]);
      // Nothing to store is a deletion; nothing to delete is an upsert.
      expect(await index.upsert([], { deleteFilter })).toEqual({ stored: 0, unchanged: 0, deleted: 2 });
      expect(await index.upsert([chunk("a#1", "a")], { deleteFilter })).toMatchObject({
        stored: 1,
        deleted: 0,
      });
      expect(await index.listIds()).toEqual(["a#1", "b#0"]);
      await expect(index.upsert([chunk("x", "x")], { deleteFilter: {} })).rejects.toMatchObject(
        refusal("invalid_request", "deleteFilter"),
      );
      const wrong = index.upsert([{ id: "x", vector: [1, 2, 3] }], { deleteFilter });
      await expect(wrong).rejects.toMatchObject({ code: "dimension_mismatch" });
      expect(await index.listIds()).toEqual(["a#1", "b#0"]);
      const empty = await newIndex();
      expect(await empty.upsert([chunk("a#0", "a")], { deleteFilter })).toMatchObject({
        stored: 1,
        deleted: 0,
      });
      expect(await (await newIndex()).upsert([], { deleteFilter })).toMatchObject({ stored: 0, deleted: 0 });
    });

    test("an upsert skips and counts items that are stored already", async () => {
      const index = await newIndex(three);
      const options = { skipUnchanged: true };
      expect(await index.upsert(three, options)).toEqual({ stored: 0, unchanged: 3, deleted: 0 });
      const anchor = await index.anchor();
      await index.upsert(three, options);
      expect(await index.anchor()).toBe(anchor);
      const changes: readonly Item[] = [
        { ...three[0], vector: [1, -0] },
        { ...three[1], contents: "other" },
        { ...three[2], metadata: { year: 2022, more: null } },
        { id: "d", vector: [1, 1] },
      ];
      expect(await index.upsert(changes, options)).toEqual({ stored: 4, unchanged: 0, deleted: 0 });
      expect(await index.upsert([...changes, ...three.slice(0, 1)], options)).toEqual({
        stored: 1,
        unchanged: 3,
        deleted: 0,
      });
      await index.delete({ ids: ["d"] });
      expect(await index.upsert(changes.slice(3), options)).toMatchObject({ stored: 1 });
      // A delete filter does not delete unchanged items.
      expect(
        await index.upsert(changes.slice(1), { ...options, deleteFilter: { year: { $gte: 2020 } } }),
      ).toEqual({
        stored: 0,
        unchanged: 3,
        deleted: 1,
      });
      expect(await index.listIds()).toEqual(["b", "c", "d"]);
    });

    test("a vector that is none is refused, also if it would be equal as numbers", async () => {
      const index = await newIndex(three);
      const vector = ["1", "0"] as unknown as number[];
      await expect(index.upsert([{ ...three[0], vector }], { skipUnchanged: true })).rejects.toMatchObject(
        refusal("invalid_request", "items[0].vector[0]"),
      );
    });

    test("concurrent updates never bring back items that others replaced or deleted", async () => {
      const ids = Array.from({ length: 12 }, (_, i) => `${i}`);
      const item = (id: string, round: number) => ({
        id,
        vector: [round, round],
        contents: `${round}`,
        metadata: { round, all: true },
      });
      const index = await newIndex(ids.map((id) => item(id, 0)));
      for (let round = 1; round <= 4; round++) {
        const gone = ids.filter((_, i) => i % 4 === round - 1);
        const calls = [
          index.update({ updateAll: true }, { metadata: { touched: round } }),
          index.update({ ids }, { metadata: { alsoTouched: round } }),
          index.upsert(ids.filter((id) => !gone.includes(id)).map((id) => item(id, round))),
          index.delete({ ids: gone }),
        ];
        await Promise.all(calls);
        const left = await drain(index.items());
        expect(left.map(({ id }) => id)).toEqual(ids.filter((id) => !gone.includes(id)).sort());
        for (const { vector, contents, metadata } of left) {
          expect({ vector, contents, round: metadata?.round }).toEqual({
            vector: Float32Array.of(round, round),
            contents: `${round}`,
            round,
          });
        }
      }
    });
  });
}
