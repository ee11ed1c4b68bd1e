/** Items in the order of their metadata, of the embedded index and over HTTP alike. */

import { expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import type { ListItemsOptions } from "../../src/api/vector-index.js";
import { startBoth } from "./both-clients.js";

const { service, clients } = await startBoth();
const indexKey = generateKey();
const items = Array.from({ length: 12 }, (_, i) => ({
  id: `i${i}`,
  vector: [i, 1],
  contents: `text ${i}`,
  metadata: { year: 2000 + (i % 4), author: { name: i % 3 === 0 ? "Ada" : `n${i}` } },
}));
const orders: ListItemsOptions[] = [
  { orderBy: { year: "desc" } },
  { orderBy: { "author.name": "asc", year: "desc" }, filter: { year: { $gt: 2000 } }, limit: 5 },
  { orderBy: { year: "asc" }, limit: 3, include: [] },
  { orderBy: { year: "asc" }, limit: 3, include: ["contents", "metadata", "vector"] },
];

const [embedded, remote] = await Promise.all(
  ["embedded", "over HTTP"].map(async (name) => {
    const index = await clients[name].createIndex({ indexName: `order-${name}`, indexKey });
    await index.upsert(items);
    return index;
  }),
);
const address = { index_name: "order-over HTTP", index_key: indexKey };
const post = (body: object) => service.post("/v1/vectors/query", { ...address, ...body });

test.each(orders)("%j gives the same pages over HTTP", async (listing) => {
  const cursors: { remote?: string; embedded?: string } = {};
  do {
    const there = await remote.listItems({ ...listing, cursor: cursors.remote });
    const here = await embedded.listItems({ ...listing, cursor: cursors.embedded });
    expect(there.items).toEqual(here.items);
    expect(there.cursor === undefined).toBe(here.cursor === undefined);
    [cursors.remote, cursors.embedded] = [there.cursor, here.cursor];
  } while (cursors.remote !== undefined);
});

test.each(["embedded", "over HTTP"])(
  "pages show one state %s, whatever is written meanwhile",
  async (name) => {
    const index = await clients[name].createIndex({ indexName: `one-state-${name}`, indexKey });
    await index.upsert(items);
    const listing = {
      orderBy: { year: "asc" },
      limit: 6,
      include: ["contents", "metadata", "vector"],
    } as const;
    const before = await index.listItems({ ...listing, limit: 100 });
    const first = await index.listItems(listing);
    await index.delete({ ids: ["i3"] });
    await index.upsert([{ id: "i7", vector: [0, 0], contents: "later", metadata: { year: 1990 } }]);
    const second = await index.listItems({ ...listing, cursor: first.cursor });
    expect([...first.items, ...second.items]).toEqual(before.items);
  },
);

test.each(["embedded", "over HTTP"])(
  "options of queries alone are refused %s, and an order of a query",
  async (name) => {
    const index = name === "embedded" ? embedded : remote;
    const orderBy = { year: "asc" };
    for (const more of [{ queryVector: [1, 2] }, { queryText: "text" }, { nProbes: 1 }, { after: "i1" }]) {
      const listed = index.listItems({ orderBy, ...more } as never);
      await expect(listed).rejects.toMatchObject({ code: "invalid_request" });
    }
    for (const more of [{ orderBy }, { cursor: "x" }]) {
      const found = index.query({ queryVector: [1, 1], ...more } as never);
      await expect(found).rejects.toMatchObject({ code: "invalid_request" });
    }
    // Undefined counts as left out.
    const { items: byId } = await index.listItems({ limit: 1, orderBy: undefined });
    expect(byId).toMatchObject([{ id: "i0" }]);
  },
);

test.each([
  [{ order_by: { year: "desc" } }],
  [{ order_by: { year: -1 }, query_vectors: [], query_contents: null, cursor: null }],
])("%j is answered with metadata, and a cursor for the next page", async (body) => {
  const first = await post({ ...body, top_k: 2 });
  expect(first).toMatchObject({
    status: 200,
    body: { results: [{ id: "i11", metadata: { year: 2003 } }, { id: "i3" }], cursor: expect.any(String) },
  });
  const next = await post({ ...body, top_k: 100, cursor: first.body.cursor });
  expect((next.body.results as object[]).length).toBe(10);
  expect(next.body).not.toHaveProperty("cursor");
});

test("a list of items takes an order as a query does", async () => {
  const body = { order_by: { year: "desc", "author.name": 1 }, limit: 3 };
  const { status, body: page } = await service.post("/v1/vectors/list", { ...address, ...body });
  expect(status).toBe(200);
  expect(page).toMatchObject({ results: [{ id: "i3", contents: "text 3" }, { id: "i11" }, { id: "i7" }] });
});

test("a field alone is ascending", async () => {
  expect((await post({ order_by: "year", top_k: 1, include: [] })).body.results).toEqual([{ id: "i0" }]);
});

test.each([
  { order_by: {} },
  { order_by: { year: "up" } },
  { order_by: "year", query_vectors: [1, 2] },
  { order_by: "year", query_text: "text" },
  { order_by: "year", include: ["distance"] },
  { order_by: "year", cursor: "x" },
  { order_by: "year", top_k: 0 },
  { query_vectors: [1, 2], cursor: "x" },
])("%j is refused", async (body) => {
  expect((await post(body)).status).toBe(422);
});
