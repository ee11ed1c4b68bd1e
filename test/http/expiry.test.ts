/** Items that expire, of the embedded index and over HTTP alike. */

import { expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { startBoth } from "./both-clients.js";

const { service, clients } = await startBoth();
const indexKey = generateKey();
const later = new Date("2096-10-02T07:06:40.000Z");

test.each(["embedded", "over HTTP"])(
  "%s, items have the time that they were given, and none after it",
  async (name) => {
    const index = await clients[name].createIndex({ indexName: `expiry-${name}`, indexKey });
    await index.upsert([
      { id: "date", vector: [1], metadata: { a: 1 }, expiresAt: later },
      { id: "number", vector: [2], expiresAt: later.getTime() },
      { id: "lasting", vector: [3] },
      { id: "gone", vector: [4], expiresAt: new Date(0) },
    ]);
    const expected = [
      { id: "date", metadata: { a: 1 }, expiresAt: later },
      { id: "lasting", metadata: {} },
      { id: "number", metadata: {}, expiresAt: later },
    ];
    const include = ["metadata"] as const;
    const byId = <T extends { readonly id: string }>(items: readonly T[]) =>
      items.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect((await index.listItems({ include })).items).toEqual(expected);
    expect(byId(await index.get(["gone", "number", "date", "lasting"], { include }))).toEqual(expected);
    expect(byId(await index.query({ queryVector: [1], include }))).toEqual(expected);
    expect((await index.listItems({ orderBy: { a: "asc" }, include: ["metadata"] })).items).toEqual(expected);
    expect(await index.count()).toBe(3);
  },
);

const upsert = (expires_at: unknown) =>
  service.post("/v1/vectors/upsert", {
    index_name: "expiry-over HTTP",
    index_key: indexKey,
    items: [{ id: "x", vector: [1], expires_at }],
  });

test.each(["2096-10-02T07:06:40Z", "2096-10-02T09:06:40.5+02:00", null])(
  "%j is a time, or none",
  async (time) => {
    expect((await upsert(time)).status).toBe(200);
  },
);

test.each(["tomorrow", "2096-10-02", "2096-13-02T07:06:40Z", "2096-10-02T07:06:40", 4e12, ""])(
  "%j is refused",
  async (time) => {
    expect((await upsert(time)).status).toBe(422);
  },
);
