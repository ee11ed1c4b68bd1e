/** Queries by metadata alone: items in the order of fields, page by page. */

import { describe, expect, test } from "vitest";
import { createClient, type Filter, generateKey, type Item, type VectorIndex } from "../../src/core.js";
import { seededRandom } from "../../src/engine/random.js";
import { compileFilter } from "../../src/api/filter/compile.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { repeats } from "../tier.js";

type OrderBy = Readonly<Record<string, "asc" | "desc">>;

const client = createClient({ indexLocation: createMemoryStore(), automaticTraining: false });
let made = 0;

function newIndex(): Promise<VectorIndex> {
  return client.createIndex({ indexName: `ordered ${made++}`, indexKey: generateKey() });
}

/** A value that has an order, by its type, then as a number, then as a text; null: it has none. */
function rankOf(metadata: unknown, path: string): readonly [number, number, Buffer] | null {
  let value = metadata;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
    value = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
  }
  const none = Buffer.alloc(0);
  if (typeof value === "number") return [0, value, none];
  // One unit more distinguishes a text from longer ones that begin so.
  if (typeof value === "string")
    return [1, 0, Buffer.from(value.length > 96 ? `${value.slice(0, 96)}\0` : value)];
  return typeof value === "boolean" ? [2, Number(value), none] : null;
}

function compareBy(orderBy: OrderBy): (a: Item, b: Item) => number {
  return (a, b) => {
    for (const [path, direction] of Object.entries(orderBy)) {
      const [x, y] = [rankOf(a.metadata, path), rankOf(b.metadata, path)];
      if (x === null && y === null) continue;
      if (x === null || y === null) return x === null ? 1 : -1;
      const order = x[0] - y[0] || x[1] - y[1] || Buffer.compare(x[2], y[2]);
      if (order !== 0) return direction === "asc" ? order : -order;
    }
    return a.id < b.id ? -1 : 1;
  };
}

function expected(items: Iterable<Item>, orderBy: OrderBy, filter: Filter = {}): string[] {
  const { matches } = compileFilter(filter);
  return [...items]
    .filter(({ metadata }) => matches((metadata ?? {}) as Record<string, unknown>))
    .sort(compareBy(orderBy))
    .map(({ id }) => id);
}

async function pages(index: VectorIndex, listing: { orderBy: OrderBy; filter?: Filter; limit?: number }) {
  const ids: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await index.listItems({ ...listing, cursor, include: [] });
    ids.push(page.items.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return ids;
}

const texts = ["", "a", "B", "ä", "～", "😀", "x".repeat(96), `${"x".repeat(96)}a`, `${"x".repeat(96)}b`];
const values = [0, -0, 1.5, -3, 2e10, true, false, null, [1], ["a", "b"], { c: 1 }, [{ b: 5 }], ...texts];

function randomMetadata(random: () => number): Record<string, unknown> {
  const pick = () => values[Math.floor(random() * values.length)];
  const metadata: Record<string, unknown> = {};
  if (random() < 0.8) metadata.mixed = pick();
  if (random() < 0.9) metadata.year = 2000 + Math.floor(random() * 5);
  if (random() < 0.7) metadata.a = random() < 0.5 ? { b: pick() } : pick();
  if (random() < 0.1) metadata["a.b"] = 7;
  if (random() < 0.05) for (let i = 0; i < 90; i++) metadata[`rare${Math.floor(random() * 400)}`] = i;
  if (random() < 0.02) metadata.a = { b: Array.from({ length: 80 }, (_, i) => i) };
  return metadata;
}

const orders: OrderBy[] = [
  { mixed: "asc" },
  { mixed: "desc" },
  { year: "desc" },
  { "a.b": "asc" },
  { "a.b": "desc", year: "asc" },
  { year: "asc", mixed: "desc", "a.b": "asc" },
  { rare7: "desc", year: "desc" },
  { nowhere: "asc" },
];
const filters: Filter[] = [{}, { year: { $gte: 2002 } }, { mixed: "a" }, { year: 1 }];

test.each(Array.from({ length: repeats("SEALDEX_ORDER_HISTORIES", { fast: 3, all: 12 }) }, (_, i) => i))(
  "pages equal a sort of all items after any replacements and deletions: seed %i",
  async (seed) => {
    const random = seededRandom(seed);
    const index = await newIndex();
    const live = new Map<string, Item>();
    for (let round = 0; round < 5; round++) {
      const items = Array.from({ length: 1 + Math.floor(random() * 150) }, () => {
        const id = `${Math.floor(random() * 400)}`;
        return { id, vector: [random()], metadata: randomMetadata(random) };
      });
      await index.upsert(items);
      for (const item of items) live.set(item.id, item);
      const deleted = [...live.keys()].filter(() => random() < 0.1);
      await index.delete({ ids: deleted });
      for (const id of deleted) live.delete(id);
      if (random() < 0.3) await index.compact();
      for (const orderBy of orders) {
        const filter = filters[Math.floor(random() * filters.length)];
        const limit = 1 + Math.floor(random() * 60);
        const found = await pages(index, { orderBy, filter, limit });
        expect(found.flat()).toEqual(expected(live.values(), orderBy, filter));
        expect(found.slice(0, -1).every((page) => page.length === limit)).toBe(true);
      }
    }
  },
);

test("finds the first of many items, of which few or many are equal", async () => {
  const index = await newIndex();
  const items = Array.from({ length: 17_500 }, (_, i) => {
    const metadata = { time: (i * 7919) % 17_500, half: i % 2 === 0, tenth: i % 10, group: `g${i % 300}` };
    return { id: `i${i}`, vector: [i], metadata };
  });
  await index.upsert(items);
  const queries: [OrderBy, Filter][] = [
    [{ time: "desc" }, {}],
    [{ half: "desc" }, {}],
    [{ half: "asc", tenth: "desc", time: "asc" }, {}],
    [{ group: "asc", time: "desc" }, { half: true }],
    [{ time: "asc" }, { group: "g7" }],
  ];
  for (const [orderBy, filter] of queries) {
    const wanted = expected(items, orderBy, filter);
    let cursor: string | undefined;
    for (let start = 0; start < Math.min(3 * 40, wanted.length); start += 40) {
      const page = await index.listItems({ orderBy, filter, limit: 40, cursor, include: [] });
      expect(page.items.map(({ id }) => id)).toEqual(wanted.slice(start, start + 40));
      ({ cursor } = page);
    }
  }
  const all = await pages(index, { orderBy: { half: "asc" }, limit: 10_000 });
  expect(all.flat()).toEqual(expected(items, { half: "asc" }));
});

describe("a list of items with orderBy", () => {
  test("has the fields of any other, or those asked for", async () => {
    const index = await newIndex();
    await index.upsert([{ id: "a", vector: [1], contents: "text", metadata: { year: 1 } }]);
    const orderBy = { year: "desc" } as const;
    expect(await index.listItems({ orderBy })).toEqual(await index.listItems());
    const [item] = (await index.listItems({ orderBy, include: ["contents", "vector"] })).items;
    expect(item).toEqual({ id: "a", contents: "text", vector: Float32Array.of(1) });
  });

  test("continues in the state of its first page, despite concurrent writes", async () => {
    const index = await newIndex();
    await index.upsert([1, 2, 3, 4].map((year) => ({ id: `${year}`, vector: [1], metadata: { year } })));
    const orderBy = { year: "asc" } as const;
    const first = await index.listItems({ orderBy, limit: 2 });
    await index.delete({ ids: ["2", "3"] });
    await index.upsert([{ id: "5", vector: [1], metadata: { year: 3 } }]);
    const second = await index.listItems({ orderBy, limit: 2, cursor: first.cursor });
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(["1", "2", "3", "4"]);
    expect(second.cursor).toBeUndefined();
  });

  test("of an index without items is an empty page", async () => {
    expect(await (await newIndex()).listItems({ orderBy: { year: "asc" } })).toEqual({ items: [] });
  });

  test.each([
    ["no field", { orderBy: {} }],
    ["another direction", { orderBy: { year: "down" } }],
    [
      "too many fields",
      { orderBy: Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`f${i}`, "asc"])) },
    ],
    ["a list", { orderBy: ["year"] }],
    ["no page", { orderBy: { year: "asc" }, limit: 0 }],
    ["a vector too", { orderBy: { year: "asc" }, queryVector: [1] }],
    ["words too", { orderBy: { year: "asc" }, queryText: "a" }],
    ["an option of vectors", { orderBy: { year: "asc" }, greedy: true }],
    ["an id to begin after", { orderBy: { year: "asc" }, after: "a" }],
    ["no order", { orderBy: null }],
    ["another cursor", { orderBy: { year: "asc" }, cursor: "x" }],
    ["a distance", { orderBy: { year: "asc" }, include: ["distance"] }],
  ])("is refused with %s", async (_, request) => {
    const index = await newIndex();
    await expect(index.listItems(request as never)).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("refuses the cursor of an item that its state has not", async () => {
    const index = await newIndex();
    await index.upsert(["a", "b"].map((id) => ({ id, vector: [1] })));
    const orderBy = { year: "asc" } as const;
    const { cursor = "" } = await index.listItems({ orderBy, limit: 1 });
    const other = cursor.slice(0, cursor.lastIndexOf(".") + 1) + Buffer.from("zz").toString("base64url");
    await expect(index.listItems({ orderBy, cursor: other })).rejects.toMatchObject({
      code: "invalid_request",
    });
  });
});
