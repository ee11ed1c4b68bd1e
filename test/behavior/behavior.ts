/** The behavior of every index, wherever it runs: one suite for the embedded client and for HTTP. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Client,
  type Filter,
  generateKey,
  type IndexConfigInput,
  type Item,
  type Metric,
  type VectorIndex,
} from "../../src/core.js";
import { seededRandom } from "../../src/engine/random.js";
import { clustered } from "../engine/data.js";
import { dot, rowsOf, squaredL2 } from "../engine/oracle.js";
import { changingBehaviour } from "./changing.js";
import { listingBehaviour } from "./listing.js";
import { refusal } from "../outcome.js";

export interface Service {
  readonly client: Client;
  close(): Promise<void>;
}

const everyType: readonly IndexConfigInput[] = [
  { type: "ivfflat" },
  { type: "ivf" },
  { type: "ivfpq", pqDim: 3, pqBits: 8 },
];
const metrics: readonly Metric[] = ["euclidean", "cosine", "squared_euclidean"];

export function bruteForceDistance(metric: Metric, a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (metric === "squared_euclidean") return squaredL2(a, b);
  if (metric === "euclidean") return Math.sqrt(squaredL2(a, b));
  return 1 - dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

export function indexBehaviour(name: string, open: () => Promise<Service>): void {
  listingBehaviour(name, open);
  changingBehaviour(name, open);
  describe(`an index ${name}`, () => {
    let service: Service;
    let made = 0;
    beforeAll(async () => {
      service = await open();
    });
    afterAll(() => service.close());

    async function newIndex(
      items: readonly Item[] = [],
      metric: Metric = "euclidean",
      indexConfig: IndexConfigInput = { type: "ivfflat" },
    ) {
      const options = { indexName: `behaviour ${made++}`, indexKey: generateKey() };
      const index = await service.client.createIndex({ ...options, metric, indexConfig });
      await index.upsert(items);
      return { index, options };
    }

    test("options that are no object are refused by every method, and change nothing", async () => {
      const { index, options } = await newIndex(three);
      const { client } = service;
      for (const odd of [null, 5, "x", true] as never[]) {
        const calls = [
          () => client.createIndex(odd),
          () => client.loadIndex(odd),
          () => client.deleteIndex(odd),
          () => client.listIndexes(odd),
          () => index.upsert([{ id: "d", vector: [1, 2] }], odd),
          () => index.query(odd),
          () => index.get(["a"], odd),
          () => index.delete({ ids: ["a"] }, odd),
          () => index.delete(odd),
          () => index.listIds(odd),
          () => index.count(odd),
          () => index.train(odd),
          () => index.compact(odd),
          () => index.describe(odd),
        ];
        for (const call of calls) {
          // A method that threw, and did not reject, would fail here too.
          await expect(call(), String(call)).rejects.toMatchObject({ code: "invalid_request" });
        }
      }
      expect(await (await client.loadIndex(options)).listIds()).toEqual(["a", "b", "c"]);
    });

    test("arrays with holes and values of no JSON type are refused, naming the place", async () => {
      const { index } = await newIndex(three);
      const holes = Array.from({ length: 2 });
      delete holes[0];
      holes[1] = "a";
      const odd = holes as never;
      for (const [call, place] of [
        [() => index.upsert(odd), /^items\[0\]/],
        [() => index.upsert([{ id: "d", vector: odd }]), /^items\[0\]\.vector/],
        [() => index.upsert([{ id: "d", vector: [1, 2], metadata: { a: odd } }]), /^items\[0\]\.metadata/],
        [() => index.get(odd), /^ids\[0\]/],
        [() => index.get(["a"], { include: odd }), /^include/],
        [() => index.get(["a"], { include: [1n] as never }), /^(include|request)/],
        [() => index.upsert([{ id: 1n as never, vector: [1, 2] }]), /^items\[0\]/],
        [() => index.delete({ ids: odd }), /^ids\[0\]/],
        [() => index.query({ queryVector: odd }), /^queryVector\[0\]/],
        [() => index.query({ queryVectors: odd }), /^queryVectors\[0\]/],
        [() => index.query({ queryVector: [1, 2], include: odd }), /^include/],
        [() => index.query({ queryVector: [1, 2], filters: { a: { $in: odd } } }), /^filter\.a\.\$in\[0\]/],
        [() => index.query({ queryVector: [1, 2], filters: { $and: odd } }), /^filter\.\$and\[0\]/],
        [() => index.query({ queryVector: [1, 2], topK: 5n as never }), /^topK/],
      ] as const) {
        await expect(call(), String(call)).rejects.toMatchObject({
          code: "invalid_request",
          message: expect.stringMatching(place),
        });
      }
      expect(await index.listIds()).toEqual(["a", "b", "c"]);
    });

    const three: Item[] = [
      { id: "a", vector: [1, 0], contents: "first", metadata: { year: 2020, tags: ["x", "y"] } },
      { id: "b", vector: [0, 1], contents: "second", metadata: { year: 2021, author: { name: "Åsa" } } },
      { id: "c", vector: [5, 5] },
    ];

    test("finds the nearest items, nearest first, with distances", async () => {
      const { index } = await newIndex(three);
      expect(await index.query({ queryVector: [1, 0.1], topK: 2 })).toEqual([
        { id: "a", distance: expect.closeTo(0.1, 6) },
        { id: "b", distance: expect.closeTo(Math.hypot(1, 0.9), 6) },
      ]);
    });

    test("returns the fields that include names, and only those", async () => {
      const { index } = await newIndex(three);
      const query = { queryVector: [1, 0], topK: 1 };
      expect(await index.query({ ...query, include: [] })).toEqual([{ id: "a" }]);
      expect(await index.query({ ...query, include: ["metadata"] })).toEqual([
        { id: "a", metadata: { year: 2020, tags: ["x", "y"] } },
      ]);
      const all = await index.query({ ...query, include: ["distance", "metadata", "vector", "contents"] });
      expect(all).toEqual([{ ...three[0], vector: Float32Array.of(1, 0), distance: 0 }]);
      const decoded = await index.query({ ...query, include: ["decoded", "distance"] });
      expect(decoded).toEqual([{ id: "a", decoded: Float32Array.of(1, 0), distance: 0 }]);
      expect(await index.get(["b"], { include: ["decoded", "contents"] })).toEqual([
        { id: "b", decoded: Float32Array.of(0, 1), contents: "second" },
      ]);
    });

    test("an item without metadata has none to show: an empty object", async () => {
      const { index } = await newIndex(three);
      expect(await index.query({ queryVector: [5, 5], topK: 1, include: ["metadata", "contents"] })).toEqual([
        { id: "c", metadata: {} },
      ]);
      expect(await index.get(["c"])).toEqual([{ id: "c", vector: Float32Array.of(5, 5), metadata: {} }]);
    });

    test("answers a batch with one list for each query, in order", async () => {
      const { index } = await newIndex(three);
      const lists = await index.query({ queryVectors: [[5, 5], Float32Array.of(0, 1), [1, 0]], topK: 1 });
      expect(lists.map((list) => list.map(({ id }) => id))).toEqual([["c"], ["b"], ["a"]]);
      expect(await index.query({ queryVectors: [[1, 0]], topK: 1, include: [] })).toEqual([[{ id: "a" }]]);
      expect(await index.query({ queryVectors: [] })).toEqual([]);
    });

    test("returns at most the items there are, and none for topK 0", async () => {
      const { index } = await newIndex(three);
      expect(await index.query({ queryVector: [0, 0], topK: 50 })).toHaveLength(3);
      expect(await index.query({ queryVector: [0, 0], topK: 0 })).toEqual([]);
    });

    test("an empty index answers with nothing, whatever the dimension asked with", async () => {
      const { index } = await newIndex();
      expect(await index.query({ queryVector: [1, 2, 3] })).toEqual([]);
      expect(await index.query({ queryVectors: [[1], [2]] })).toEqual([[], []]);
      const invalid = { code: "invalid_request" };
      await expect(index.query({ queryVector: [1, Number.NaN] })).rejects.toMatchObject(invalid);
      await expect(index.query({ queryVectors: [[1], [Infinity, 2]] })).rejects.toMatchObject(invalid);
      expect(await index.get(["a"])).toEqual([]);
      expect(await index.count()).toBe(0);
      expect(await index.listIds()).toEqual([]);
      await index.delete({ ids: ["a"] });
      await index.delete({ deleteAll: true });
    });

    test("upserting an id again replaces vector, contents and metadata", async () => {
      const { index } = await newIndex(three);
      await index.upsert([{ id: "a", vector: [9, 9] }]);
      expect(await index.count()).toBe(3);
      expect(await index.get(["a"])).toEqual([{ id: "a", vector: Float32Array.of(9, 9), metadata: {} }]);
      const [nearest] = await index.query({ queryVector: [1, 0], topK: 1 });
      expect(nearest.id).toBe("b");
    });

    test("of equal ids in one call the last wins", async () => {
      const { index } = await newIndex([
        { id: "twice", vector: [1, 1], contents: "old" },
        { id: "once", vector: [2, 2] },
        { id: "twice", vector: [3, 3], contents: "new" },
      ]);
      expect(await index.count()).toBe(2);
      const [item] = await index.get(["twice"]);
      expect(item).toMatchObject({ vector: Float32Array.of(3, 3), contents: "new" });
    });

    test("get returns items in the order asked for, bit-equal, without the unknown ones", async () => {
      const vector = Float32Array.of(0.1, -0, 3.4e38, 1e-45, -7.25);
      const stored = [
        { id: "x", vector },
        { id: "y", vector: vector.map((value) => -value) },
      ];
      const { index } = await newIndex(stored, "cosine");
      const items = await index.get(["y", "nobody", "x", "y"]);
      expect(items.map(({ id }) => id)).toEqual(["y", "x", "y"]);
      expect(Buffer.from((items[1].vector as Float32Array).buffer)).toEqual(Buffer.from(vector.buffer));
      expect(await index.get(["x"], { include: [] })).toEqual([{ id: "x" }]);
    });

    test("metadata come back verbatim", async () => {
      const text =
        '{"id":1,"_content":[],"a.b":{"$x":null,"__proto__":{"y":"ü"}},"n":-0.5,"deep":[[{"t":true}]],"":""}';
      const metadata = JSON.parse(text) as Record<string, unknown>;
      const { index } = await newIndex([{ id: "verbatim", vector: [1], metadata }]);
      const [item] = await index.get(["verbatim"]);
      expect(JSON.stringify(item.metadata)).toBe(text);
      const [match] = await index.query({ queryVector: [1], include: ["metadata"] });
      expect(JSON.stringify(match.metadata)).toBe(text);
      expect(Object.getPrototypeOf(match.metadata)).toBe(Object.prototype);
    });

    test("ids and contents may be any text", async () => {
      const texts = [
        "../../etc/passwd",
        "a b",
        "\u0000",
        "日本語 🐟",
        "'; drop table",
        "x".repeat(512),
        "constructor",
      ];
      const { index } = await newIndex(
        texts.map((text, i) => ({ id: text, vector: [i, 1], contents: text })),
      );
      expect(await index.listIds()).toEqual(texts.toSorted());
      const items = await index.get(texts);
      expect(items.map(({ contents }) => contents)).toEqual(texts);
    });

    test("deletes by id, tolerating unknown ids, and the place is taken by the next nearest", async () => {
      const { index } = await newIndex(three);
      await index.delete({ ids: ["a", "never there"] });
      expect((await index.query({ queryVector: [1, 0], topK: 2 })).map(({ id }) => id)).toEqual(["b", "c"]);
      expect(await index.count()).toBe(2);
      expect(await index.get(["a"])).toEqual([]);
      await index.upsert([three[0]]);
      expect(await index.get(["a"], { include: ["contents"] })).toEqual([{ id: "a", contents: "first" }]);
    });

    test("deletes by filter", async () => {
      const { index } = await newIndex(three);
      await index.delete({ filter: { year: { $gte: 2021 } } });
      expect(await index.listIds()).toEqual(["a", "c"]);
      await index.delete({ deleteAll: true });
      expect(await index.count()).toBe(0);
    });

    test("considers only items whose metadata match the filter, before topK", async () => {
      const items = Array.from({ length: 200 }, (_, i) => ({
        id: `i${i}`,
        vector: [i, 0],
        metadata: { group: i % 10, nested: { even: i % 2 === 0 } },
      }));
      const { index } = await newIndex(items);
      const ids = async (filters: object) =>
        (await index.query({ queryVector: [0, 0], topK: 3, filters: filters as never })).map(({ id }) => id);
      expect(await ids({ group: 7 })).toEqual(["i7", "i17", "i27"]);
      expect(await ids({ $or: [{ group: { $in: [3] } }, { group: 9 }] })).toEqual(["i3", "i9", "i13"]);
      expect(await ids({ "nested.even": true, group: { $gt: 4, $lte: 8 } })).toEqual(["i6", "i8", "i16"]);
      expect(await ids({ group: "7" })).toEqual([]);
      expect(await ids({})).toEqual(["i0", "i1", "i2"]);
    });

    describe("of a trained index, a filter", () => {
      const d = 8;
      const n = 6000;
      const clusters = 30;
      const vectors = rowsOf(clustered(n, d, clusters, 21), d);
      // Rows of one cluster share the signs of their first components, so `region` goes with the lists.
      const items = vectors.map((vector, i) => ({
        id: `${i}`,
        vector,
        metadata: { thousandth: i % 1000, region: `${Math.sign(vector[0])},${Math.sign(vector[1])}` },
      }));
      const queries = rowsOf(clustered(200, d, clusters, 22), d);
      let index: VectorIndex;
      beforeAll(async () => {
        ({ index } = await newIndex(items.slice(0, 5000)));
        await index.train({ nLists: 40 });
        await index.upsert(items.slice(5000));
        // Rows that match but are gone must not come back through the metadata.
        await index.delete({ ids: items.slice(0, 50).map(({ id }) => id) });
        await index.upsert([{ id: "60", vector: vectors[60], metadata: { thousandth: -1 } }]);
      });

      /** The share of the true nearest matches that queries find. */
      async function recall(filters: Filter, isMatch: (item: (typeof items)[number]) => boolean) {
        const matching = items.filter((item, i) => i >= 50 && i !== 60 && isMatch(item));
        const lists = await index.query({ queryVectors: queries, topK: 10, nProbes: 0, filters });
        let found = 0;
        let wanted = 0;
        lists.forEach((matches, q) => {
          const nearest = matching
            .map(({ id, vector }) => ({ id, distance: bruteForceDistance("euclidean", queries[q], vector) }))
            .sort((a, b) => a.distance - b.distance)
            .slice(0, 10);
          const ids = new Set(nearest.map(({ id }) => id));
          expect(matches.length).toBe(nearest.length);
          wanted += ids.size;
          for (const { id } of matches) if (ids.has(id)) found++;
        });
        return found / wanted;
      }

      test.each([1, 5, 10, 200])(
        "that keeps %i in 1000 evenly finds all that brute force finds",
        async (kept) => {
          const filters = { thousandth: { $gte: 0, $lt: kept } };
          expect(await recall(filters, ({ metadata }) => metadata.thousandth < kept)).toBe(1);
        },
      );

      test("that keeps half evenly holds the recall that training aims at", async () => {
        const even = Array.from({ length: 500 }, (_, i) => 2 * i);
        const filters = { thousandth: { $in: even } };
        expect(await recall(filters, ({ metadata }) => metadata.thousandth % 2 === 0)).toBeGreaterThan(0.95);
      });

      test.each(["1,1", "-1,1"])("that goes with the clusters holds it too: %s", async (region) => {
        const share = items.filter((item) => item.metadata.region === region).length / n;
        expect(share).toBeGreaterThan(0.1);
        const filters = { region };
        expect(await recall(filters, ({ metadata }) => metadata.region === region)).toBeGreaterThan(0.95);
      });

      test("that matches nothing, or only deleted items, finds nothing", async () => {
        const ask = (filters: Filter) => index.query({ queryVector: queries[0], topK: 5, filters });
        expect(await ask({ thousandth: "1" })).toEqual([]);
        expect(await ask({ nowhere: { $gt: 0 } })).toEqual([]);
        expect(await ask({ thousandth: { $lt: 0 } })).toMatchObject([{ id: "60" }]);
      });

      test("does not change the results of greedy queries and of queries of all lists", async () => {
        const filters = { thousandth: { $lt: 900 } };
        const asked = { queryVectors: queries, topK: 10, filters };
        const all = await index.query({ ...asked, nProbes: 40 });
        expect(await index.query({ ...asked, nProbes: 1, greedy: true })).toEqual(all);
        expect(await recall(filters, ({ metadata }) => metadata.thousandth < 900)).toBeGreaterThan(0.95);
      });
    });

    test("deletes by filter among columns and records alike", async () => {
      const items: Item[] = [
        { id: "array", vector: [1], metadata: { a: [{ b: 1 }, { c: 2 }] } },
        { id: "object", vector: [2], metadata: { a: { b: null } } },
        {
          id: "wide",
          vector: [3],
          metadata: Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`k${i}`, i])),
        },
        { id: "none", vector: [4] },
      ];
      const { index } = await newIndex(items);
      await index.delete({ filter: { a: { b: null } } });
      expect(await index.listIds()).toEqual(["array", "none", "wide"]);
      await index.delete({ filter: { k899: 899 } });
      expect(await index.listIds()).toEqual(["array", "none"]);
      await index.delete({ filter: { "a.b": null } });
      expect(await index.listIds()).toEqual([]);
    });

    test("lists ids in order, by pages", async () => {
      const { index } = await newIndex(["d", "a", "c", "b"].map((id) => ({ id, vector: [1] })));
      expect(await index.listIds()).toEqual(["a", "b", "c", "d"]);
      expect(await index.listIds({ limit: 2 })).toEqual(["a", "b"]);
      expect(await index.listIds({ limit: 2, after: "b" })).toEqual(["c", "d"]);
      expect(await index.listIds({ after: "bb" })).toEqual(["c", "d"]);
      expect(await index.listIds({ limit: 0 })).toEqual([]);
    });

    test.each(metrics)("probing all lists equals brute force under %s, trained or not", async (metric) => {
      const d = 19;
      const vectors = rowsOf(clustered(700, d, 12, 4), d);
      const { index } = await newIndex(
        vectors.map((vector, i) => ({ id: `${i}`, vector })),
        metric,
      );
      const queries = rowsOf(clustered(8, d, 12, 5), d);
      const expected = queries.map((query) =>
        vectors
          .map((vector, i) => ({ id: `${i}`, distance: bruteForceDistance(metric, query, vector) }))
          .sort((a, b) => a.distance - b.distance)
          .slice(0, 10),
      );
      const ask = () => index.query({ queryVectors: queries, topK: 10, nProbes: 25 });
      const untrained = await ask();
      untrained.forEach((matches, q) => {
        expect(matches.map(({ id }) => id)).toEqual(expected[q].map(({ id }) => id));
        matches.forEach(({ distance }, i) => expect(distance).toBeCloseTo(expected[q][i].distance, 9));
      });
      await index.train({ nLists: 25 });
      expect(await index.describe()).toMatchObject({ trained: true, nLists: 25, dimension: d, metric });
      // Bit for bit: results do not depend on how rows are spread over lists.
      expect(await ask()).toEqual(untrained);
      expect(await index.query({ queryVectors: queries, topK: 10, nProbes: 1, greedy: true })).toEqual(
        untrained,
      );
      expect(await index.query({ queryVectors: queries, topK: 10, recall: "exact" })).toEqual(untrained);
      expect(await index.query({ queryVectors: queries, topK: 10, recall: 0.95 })).toHaveLength(8);
      const few = await index.query({ queryVectors: queries, topK: 10, nProbes: 1 });
      for (const matches of few) expect(matches.length).toBeLessThanOrEqual(10);
    });

    test.each(everyType)(
      "a trained $type that chooses its lists finds as many items as asked for",
      async (type) => {
        const vectors = rowsOf(clustered(800, 6, 20, 9), 6);
        const metadata = (i: number) => ({ half: i % 2 });
        const items = vectors.map((vector, i) => ({ id: `${i}`, vector, metadata: metadata(i) }));
        const { index } = await newIndex(items, "euclidean", type);
        await index.train({ nLists: 20 });
        const queryVector = vectors[0];
        for (const topK of [1, 10, 300, 799, 800]) {
          expect(await index.query({ queryVector, topK, nProbes: 0 })).toHaveLength(topK);
        }
        const filters = { half: 1 };
        expect(await index.query({ queryVector, topK: 1000, nProbes: 0, filters })).toHaveLength(400);
        expect(await index.query({ queryVector, topK: 1000, nProbes: 1 })).not.toHaveLength(800);
        // Those whose clusters are all but empty are found as well.
        await index.delete({ ids: items.slice(0, 798).map(({ id }) => id) });
        const left = await index.query({ queryVector, topK: 5, nProbes: 0 });
        expect(left.map(({ id }) => id).sort()).toEqual(["798", "799"]);
      },
    );

    test.each(everyType)("a $type learns from the queries that train is given", async (type) => {
      const random = seededRandom(4);
      const vector = () => Float32Array.from({ length: 6 }, () => random());
      const { index } = await newIndex(
        Array.from({ length: 400 }, (_, i) => ({ id: `${i}`, vector: vector() })),
        "euclidean",
        type,
      );
      await index.train({ nLists: 20, queries: Array.from({ length: 99 }, vector) });
      expect((await index.describe()).measuredRecall).toBeUndefined();
      await index.train({ nLists: 20, queries: Array.from({ length: 100 }, vector) });
      const { measuredRecall = [] } = await index.describe();
      expect(measuredRecall).toMatchObject([
        { topK: 10, queries: 100 },
        { topK: 100, queries: 100 },
      ]);
      for (const { recall, found, low, high } of measuredRecall[0].points.slice(0, 5)) {
        expect(found).toBeGreaterThan(recall - 0.03);
        expect(low).toBeLessThan(found);
        expect(high).toBeGreaterThanOrEqual(found);
      }
      const wrong = index.train({ queries: [vector(), [1, 2]] });
      await expect(wrong).rejects.toMatchObject({ code: "dimension_mismatch" });
      await expect(index.train({ queries: [[Number.NaN]] })).rejects.toMatchObject(
        refusal("invalid_request", /^queries\[0\]/),
      );
    });

    test.each(everyType)("a trained $type still takes upserts, deletes and trainings", async (type) => {
      const random = seededRandom(3);
      const vector = () => Array.from({ length: 6 }, () => random());
      const { index } = await newIndex(
        Array.from({ length: 120 }, (_, i) => ({ id: `${i}`, vector: vector() })),
        "euclidean",
        type,
      );
      await index.train({ nLists: 8 });
      await index.upsert([{ id: "new", vector: [9, 9, 9, 9, 9, 9] }]);
      await index.delete({ ids: ["5", "6"] });
      await index.upsert([{ id: "7", vector: [8, 8, 8, 8, 8, 8] }]);
      const ids = async () =>
        (await index.query({ queryVector: [9, 9, 9, 9, 9, 9], topK: 2, nProbes: 8 })).map(({ id }) => id);
      expect(await ids()).toEqual(["new", "7"]);
      await index.train({ nLists: 4 });
      expect(await ids()).toEqual(["new", "7"]);
      expect(await index.count()).toBe(119);
    });

    test.each(everyType)(
      "a trained $type gives vectors back if it keeps them, or says that it cannot",
      async (type) => {
        const items = Array.from({ length: 60 }, (_, i) => ({ id: `${i}`, vector: [i, 1, 0, 2 * i] }));
        const { index } = await newIndex(
          items,
          "cosine",
          type.type === "ivfpq" ? { ...type, pqDim: 2 } : type,
        );
        await index.train({ nLists: 2 });
        const ask = () =>
          index.query({ queryVector: [7, 1, 0, 14], topK: 1, nProbes: 2, include: ["vector"] });
        const get = () => index.get(["7"], { include: ["vector"] });
        const [item] = await index.get(["7"], { include: ["metadata"] });
        expect(item).toEqual({ id: "7", metadata: {} });
        if (type.type === "ivfflat") {
          expect(await get()).toEqual([{ id: "7", vector: Float32Array.of(7, 1, 0, 14) }]);
          expect(await ask()).toEqual(await get());
        } else {
          await expect(get()).rejects.toMatchObject({ code: "not_supported" });
          await expect(ask()).rejects.toMatchObject({ code: "not_supported" });
          expect(await index.get(["7"])).toEqual([{ id: "7", metadata: {} }]);
        }
      },
    );

    test("a first vector that pqDim does not divide is refused, and decides no dimension", async () => {
      const options = { indexName: `undecided ${made++}`, indexKey: generateKey() };
      const indexConfig = { type: "ivfpq", pqDim: 4, pqBits: 8 } as const;
      const index = await service.client.createIndex({ ...options, indexConfig });
      const odd = index.upsert([{ id: "a", vector: [1, 2, 3, 4, 5, 6] }]);
      await expect(odd).rejects.toMatchObject({ code: "dimension_mismatch" });
      expect(await index.describe()).not.toHaveProperty("dimension");
      await index.upsert([{ id: "a", vector: [1, 2, 3, 4] }]);
      expect(await index.describe()).toMatchObject({ dimension: 4, pqDim: 4 });
    });

    test("describes its configuration", async () => {
      const options = { indexName: `described ${made++}`, indexKey: generateKey() };
      const indexConfig = { type: "ivfpq", dimension: 12, pqDim: 4, pqBits: 6 } as const;
      const index = await service.client.createIndex({ ...options, indexConfig, metric: "cosine" });
      const described = {
        indexName: options.indexName,
        metric: "cosine",
        trained: false,
        nLists: 1,
        segments: 0,
        storedBytes: 0,
        reclaimableBytes: 0,
        ...indexConfig,
        memory: {
          rssBytes: expect.any(Number),
          kernelBytes: expect.any(Number),
          cacheBytes: expect.any(Number),
          cacheBytesMax: expect.any(Number),
          cacheLookups: expect.any(Number),
          cacheMisses: expect.any(Number),
        },
      };
      expect(await index.describe()).toEqual(described);
      expect(await (await service.client.loadIndex(options)).describe()).toEqual(described);
      await index.upsert([{ id: "a", vector: Array.from({ length: 12 }, () => 1) }]);
      const { segments, storedBytes } = await index.describe();
      expect(segments).toBe(1);
      expect(storedBytes).toBeGreaterThan(100);
    });

    test("an embedding model turns contents into vectors, and a text into a query", async () => {
      const options = { indexName: `embedded ${made++}`, indexKey: generateKey() };
      const index = await service.client.createIndex({ ...options, embeddingModel: "sealdex/lexical-512" });
      await index.upsert([
        { id: "fish", contents: "The salmon swims up the river to spawn." },
        { id: "keys", contents: "Rotate encryption keys every year.", metadata: { topic: "security" } },
      ]);
      const [match] = await index.query({
        queryContents: "encryption key rotation",
        topK: 1,
        include: ["metadata"],
      });
      expect(match).toEqual({ id: "keys", metadata: { topic: "security" } });
      const { dimension, embeddingModel, type } = await index.describe();
      expect({ dimension, embeddingModel, type }).toEqual({
        dimension: 512,
        embeddingModel: "sealdex/lexical-512",
        type: "ivfflat",
      });
    });

    test("is found by its name and opened by its key, and is gone when deleted", async () => {
      const { index, options } = await newIndex(three);
      expect(await service.client.listIndexes()).toContain(options.indexName);
      const again: VectorIndex = await service.client.loadIndex(options);
      expect(await again.count()).toBe(3);
      await service.client.deleteIndex(options);
      expect(await service.client.listIndexes()).not.toContain(options.indexName);
      const gone = expect.objectContaining({ code: "not_found" });
      await expect(service.client.loadIndex(options)).rejects.toEqual(gone);
      await expect(again.query({ queryVector: [1, 0] })).rejects.toEqual(gone);
      await expect(index.upsert(three)).rejects.toEqual(gone);
      await expect(service.client.deleteIndex(options)).rejects.toEqual(gone);
      await service.client.createIndex(options);
      expect(await (await service.client.loadIndex(options)).count()).toBe(0);
    });

    const wrong: Record<string, [(index: VectorIndex) => Promise<unknown>, string, RegExp]> = {
      "a vector of another length": [
        (index) => index.upsert([three[0], { id: "d", vector: [1, 2, 3] }]),
        "dimension_mismatch",
        /items\[1\].*expected 2 .*got 3/,
      ],
      "NaN in a vector": [
        (index) => index.upsert([{ id: "d", vector: [1, Number.NaN] }]),
        "invalid_request",
        /items\[0\]\.vector\[1\].*finite/,
      ],
      "a number beyond float32": [
        (index) => index.upsert([{ id: "d", vector: [1e39, 1] }]),
        "invalid_request",
        /items\[0\]\.vector\[0\].*finite/,
      ],
      "an item without vector where there is no model": [
        (index) => index.upsert([{ id: "d", contents: "text" }]),
        "invalid_request",
        /items\[0\].*expected a vector/,
      ],
      "an empty id": [
        (index) => index.upsert([{ id: "", vector: [1, 2] }]),
        "invalid_request",
        /items\[0\]\.id.*1 to 512/,
      ],
      "an id that is too long": [
        (index) => index.upsert([{ id: "é".repeat(257), vector: [1, 2] }]),
        "invalid_request",
        /items\[0\]\.id.*got 514/,
      ],
      "metadata that are too large": [
        (index) => index.upsert([{ id: "d", vector: [1, 2], metadata: { text: "x".repeat(70_000) } }]),
        "invalid_request",
        /items\[0\]\.metadata.*65536/,
      ],
      "a query vector of another length": [
        (index) => index.query({ queryVector: [1, 2, 3] }),
        "dimension_mismatch",
        /expected 2 .*got 3/,
      ],
      "a query vector with an infinite value": [
        (index) =>
          index.query({
            queryVectors: [
              [1, 2],
              [1, Number.POSITIVE_INFINITY],
            ],
          }),
        "invalid_request",
        /\[1\]\[1\].*finite/,
      ],
      "a negative topK": [
        (index) => index.query({ queryVector: [1, 2], topK: -1 }),
        "invalid_request",
        /top_?k/i,
      ],
      "a fractional topK": [
        (index) => index.query({ queryVector: [1, 2], topK: 2.5 }),
        "invalid_request",
        /top_?k/i,
      ],
      "a topK that is too large to count": [
        (index) => index.query({ queryVector: [1, 2], topK: 2 ** 53 }),
        "invalid_request",
        /top_?k/i,
      ],
      "a negative nProbes": [
        (index) => index.query({ queryVector: [1, 2], nProbes: -1 }),
        "invalid_request",
        /n_?probes/i,
      ],
      "a recall out of range": [
        (index) => index.query({ queryVector: [1, 2], recall: 0.9999 }),
        "invalid_request",
        /^recall: .*0\.8 to 0\.999.*"exact".*0\.9999/,
      ],
      "a recall that is a word": [
        (index) => index.query({ queryVector: [1, 2], recall: "most" as never }),
        "invalid_request",
        /^recall: .*got a? ?string/,
      ],
      "a recall beside nProbes": [
        (index) => index.query({ queryVector: [1, 2], recall: 0.9, nProbes: 3 }),
        "invalid_request",
        /^recall: .*probes/,
      ],
      "a recall beside greedy": [
        (index) => index.query({ queryVector: [1, 2], recall: "exact", greedy: false }),
        "invalid_request",
        /^recall: .*greedy/,
      ],
      "an unknown filter operator": [
        (index) => index.query({ queryVector: [1, 2], filters: { year: { $regex: "2" } } as never }),
        "invalid_request",
        /\$regex/,
      ],
      "an unknown field to include": [
        (index) => index.query({ queryVector: [1, 2], include: ["color" as never] }),
        "invalid_request",
        /include/,
      ],
      "a text query without a model": [
        (index) => index.query({ queryContents: "hello" }),
        "invalid_request",
        /embedding model/,
      ],
      "neither ids nor filter to delete": [
        (index) => index.delete({} as never),
        "invalid_request",
        /ids.*filter/,
      ],
    };

    test.each(Object.entries(wrong))(
      "refuses %s, and stays as it was",
      async (_, [attempt, code, message]) => {
        const { index } = await newIndex(three);
        await expect(attempt(index)).rejects.toMatchObject({
          name: "SealdexError",
          code,
          message: expect.stringMatching(message),
        });
        expect(await index.get(["a", "b", "c", "d"])).toHaveLength(3);
        expect(await index.count()).toBe(3);
      },
    );

    test("trains with as many lists as there are items at most, and an empty index not at all", async () => {
      const { index } = await newIndex(three);
      await index.train({ nLists: 4 });
      expect(await index.describe()).toMatchObject({ trained: true, nLists: 3 });
      expect(await index.query({ queryVector: [1, 2], topK: 3, nProbes: 3 })).toHaveLength(3);
      const { index: empty } = await newIndex([]);
      await empty.train({ nLists: 4 });
      expect(await empty.describe()).toMatchObject({ trained: false });
    });

    test("refuses an upsert whole: nothing of it is stored", async () => {
      const { index } = await newIndex(three);
      const items = [
        ...Array.from({ length: 50 }, (_, i) => ({ id: `n${i}`, vector: [i, i] })),
        { id: "bad", vector: [1] },
      ];
      await expect(index.upsert(items)).rejects.toMatchObject({ code: "dimension_mismatch" });
      expect(await index.listIds()).toEqual(["a", "b", "c"]);
    });

    test("refuses a wrong key, a malformed key, an unknown index and a name that is taken", async () => {
      const { options } = await newIndex(three);
      const { client } = service;
      const load = (changes: object) => client.loadIndex({ ...options, ...changes });
      await expect(load({ indexKey: generateKey() })).rejects.toMatchObject({ code: "wrong_index_key" });
      await expect(load({ indexKey: "abc" })).rejects.toMatchObject({ code: "invalid_request" });
      await expect(load({ indexName: "nobody" })).rejects.toMatchObject({ code: "not_found" });
      await expect(client.createIndex(options)).rejects.toMatchObject({ code: "already_exists" });
      await expect(client.createIndex({ ...options, indexKey: generateKey() })).rejects.toMatchObject({
        code: "already_exists",
      });
      const wrongKey = { ...options, indexKey: generateKey() };
      await expect(client.deleteIndex(wrongKey)).rejects.toMatchObject({ code: "wrong_index_key" });
      expect(await (await client.loadIndex(options)).count()).toBe(3);
    });

    test.each([
      ["an unknown type", { indexConfig: { type: "hnsw" } }],
      ["dimension 0", { indexConfig: { type: "ivfflat", dimension: 0 } }],
      ["a dimension beyond the limit", { indexConfig: { type: "ivfflat", dimension: 8193 } }],
      ["pqBits 17", { indexConfig: { type: "ivfpq", dimension: 8, pqDim: 8, pqBits: 17 } }],
      [
        "pqDim that does not divide the dimension",
        { indexConfig: { type: "ivfpq", dimension: 10, pqDim: 4, pqBits: 8 } },
      ],
      ["an unknown metric", { metric: "manhattan" }],
      ["an unknown embedding model", { embeddingModel: "sealdex/nothing" }],
      ["an empty name", { indexName: "" }],
      ["a name that is too long", { indexName: "n".repeat(129) }],
      ["a key of 63 characters", { indexKey: "0".repeat(63) }],
    ])("is not created with %s", async (_, changes) => {
      const options = { indexName: `refused ${made++}`, indexKey: generateKey(), ...changes };
      await expect(service.client.createIndex(options as never)).rejects.toMatchObject({
        name: "SealdexError",
        code: expect.stringMatching(/^(invalid_request|dimension_mismatch)$/),
      });
      expect(await service.client.listIndexes()).not.toContain(options.indexName);
    });
  });
}
