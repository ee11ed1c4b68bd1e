/** Issued API keys: their text, their records in storage, and when a process notices that one was revoked. */

import { beforeEach, expect, test } from "vitest";
import { type BlobStore, openLocation } from "../../src/core.js";
import { decodeKeyText, encodeKeyText } from "../../packages/server/src/access/key-text.js";
import { IssuedKeys, trustMs } from "../../packages/server/src/access/issued-keys.js";
import { type KeyPage, type KeyRange, KeyStore } from "../../packages/server/src/access/key-store.js";
import { whole } from "../ranges.js";

const rootKey = "a root key of more than 32 letters".replaceAll(" ", "-");
const mayRead = async () => undefined;

let now: number;
let reads: string[];
let storage: BlobStore;
let keys: KeyStore;
let issued: IssuedKeys;
beforeEach(() => {
  now = Date.UTC(2026, 0, 1);
  reads = [];
  const memory = openLocation({ location: "memory" });
  storage = {
    ...memory,
    async read(key, range, options) {
      reads.push(key);
      return memory.read(key, range, options);
    },
  };
  keys = new KeyStore(storage, rootKey, () => now);
  issued = new IssuedKeys(keys);
});

/** The issued keys as another process with the same root key knows them. */
function inAnotherProcess(store: BlobStore): IssuedKeys {
  return new IssuedKeys(new KeyStore(store, rootKey, () => now));
}

async function allPages(store: KeyStore, range?: KeyRange): Promise<KeyPage[]> {
  const pages: KeyPage[] = [];
  for await (const page of store.pages(range)) pages.push(page);
  return pages;
}

/** Replaces a stored record: blobs cannot be overwritten. */
async function replace(key: string, bytes: Uint8Array): Promise<void> {
  await storage.delete([key]);
  await storage.create(key, bytes);
}

test("a key has a recognisable prefix, 256 random bits, and a checksum that finds every typing error", async () => {
  const { apiKey } = await keys.create({ name: "a", scopes: ["read"] });
  expect(apiKey).toMatch(/^sealdex_[0-9a-f]{88}$/);
  expect(decodeKeyText(apiKey)?.secret).toHaveLength(32);
  for (let i = 0; i < apiKey.length; i++) {
    const other = apiKey[i] === "0" ? "1" : "0";
    expect(decodeKeyText(apiKey.slice(0, i) + other + apiKey.slice(i + 1))).toBeUndefined();
  }
  const { apiKey: second } = await keys.create({ name: "a", scopes: ["read"] });
  expect(second).not.toBe(apiKey);
});

test("the storage has neither the key nor its secret", async () => {
  const { apiKey, record } = await keys.create({ name: "a", scopes: ["read"] });
  const [name] = await storage.list("");
  expect(name).toBe(`apikeys/${record.id}`);
  const bytes = Buffer.from((await storage.read(name, whole)) as Uint8Array);
  const { secret } = decodeKeyText(apiKey) as { secret: Buffer };
  expect(bytes.includes(secret)).toBe(false);
  expect(bytes.includes(secret.toString("hex"))).toBe(false);
  expect(bytes.includes(rootKey)).toBe(false);
});

test("a key identifies its caller with its scopes and indexes", async () => {
  const { apiKey, record } = await keys.create({ name: "a", scopes: ["read", "write"], indexes: ["x", "y"] });
  const caller = { id: record.id, scopes: ["read", "write"], indexes: ["x", "y"] };
  expect(await issued.callerOf(apiKey, mayRead)).toEqual(caller);
});

test("the right id with another secret is refused", async () => {
  const first = await keys.create({ name: "a", scopes: ["read"] });
  const forged = encodeKeyText({ id: first.record.id, secret: Buffer.alloc(32) });
  expect(await issued.callerOf(first.apiKey, mayRead)).toBeDefined();
  expect(await issued.callerOf(forged, mayRead)).toBeUndefined();
});

test("a key is refused from the moment of its expiry", async () => {
  const { apiKey } = await keys.create({ name: "a", scopes: ["read"], expiresAt: now + 5000 });
  expect(await issued.callerOf(apiKey, mayRead)).toBeDefined();
  now += 4999;
  expect(await issued.callerOf(apiKey, mayRead)).toBeDefined();
  now += 1;
  expect(await issued.callerOf(apiKey, mayRead)).toBeUndefined();
});

test("a revocation by another process is noticed when the record is older than it is trusted for", async () => {
  const { apiKey, record } = await keys.create({ name: "a", scopes: ["read"] });
  const other = inAnotherProcess(storage);
  expect(await other.callerOf(apiKey, mayRead)).toBeDefined();
  await issued.revoke(record.id);
  expect(await issued.callerOf(apiKey, mayRead)).toBeUndefined();
  now += trustMs;
  expect(await other.callerOf(apiKey, mayRead)).toBeUndefined();
  await expect(issued.revoke(record.id)).rejects.toMatchObject({ code: "not_found" });
});

test("a key in use is read again in the background, once for many requests", async () => {
  const { apiKey } = await keys.create({ name: "a", scopes: ["read"] });
  await Promise.all(Array.from({ length: 50 }, () => issued.callerOf(apiKey, mayRead)));
  expect(reads).toHaveLength(1);
  now += trustMs / 2;
  await Promise.all(Array.from({ length: 50 }, () => issued.callerOf(apiKey, mayRead)));
  expect(reads).toHaveLength(2);
});

test("records are remembered as far as their bytes have room: those of keys for many indexes take many", async () => {
  const indexes = Array.from({ length: 1000 }, (_, i) => `${i}`.padEnd(128, "x"));
  const made = Array.from({ length: 40 }, () => keys.create({ name: "a", scopes: ["read"], indexes }));
  const apiKeys = (await Promise.all(made)).map(({ apiKey }) => apiKey);
  for (const apiKey of apiKeys) expect(await issued.callerOf(apiKey, mayRead)).toBeDefined();
  reads.length = 0;
  await issued.callerOf(apiKeys[39], mayRead);
  expect(reads).toHaveLength(0);
  await issued.callerOf(apiKeys[0], mayRead);
  expect(reads).toHaveLength(1);
});

test("a storage that does not respond is waited for only when the record can be trusted no longer", async () => {
  const { apiKey } = await keys.create({ name: "a", scopes: ["read"] });
  const failing = { ...storage, read: async () => Promise.reject(new Error("no answer")) };
  let current: BlobStore = storage;
  const switched = { ...storage, read: async (key: string) => current.read(key, whole) };
  const process = inAnotherProcess(switched);
  expect(await process.callerOf(apiKey, mayRead)).toBeDefined();
  current = failing;
  now += trustMs - 1;
  expect(await process.callerOf(apiKey, mayRead)).toBeDefined();
  now += 1;
  await expect(process.callerOf(apiKey, mayRead)).rejects.toThrow("no answer");
  current = storage;
  expect(await process.callerOf(apiKey, mayRead)).toBeDefined();
});

test("a clock that is set back does not prolong a revoked key", async () => {
  const { apiKey, record } = await keys.create({ name: "a", scopes: ["read"] });
  const other = inAnotherProcess(storage);
  expect(await other.callerOf(apiKey, mayRead)).toBeDefined();
  await issued.revoke(record.id);
  now -= 3_600_000;
  expect(await other.callerOf(apiKey, mayRead)).toBeUndefined();
});

test("a record that the storage changed, moved or invented is not accepted", async () => {
  const a = await keys.create({ name: "a", scopes: ["read"], indexes: ["x"] });
  const b = await keys.create({ name: "b", scopes: ["admin"] });
  const [nameA, nameB] = [a, b].map(({ record }) => `apikeys/${record.id}`);
  const bytes = Buffer.from((await storage.read(nameA, whole)) as Uint8Array);
  const isAccepted = async (apiKey: string) =>
    (await new IssuedKeys(keys).callerOf(apiKey, mayRead)) !== undefined;

  const changed = Buffer.from(bytes.toString("latin1").replace('["read"]', '["admin"]'), "latin1");
  expect(changed.equals(bytes)).toBe(false);
  for (let i = 0; i < bytes.length; i++) {
    const flipped = Buffer.from(bytes);
    flipped[i] ^= 1;
    await replace(nameA, flipped);
    expect(await isAccepted(a.apiKey), `byte ${i}`).toBe(false);
  }
  for (const wrong of [changed, bytes.subarray(0, 31), bytes.subarray(0, -1), Buffer.alloc(0)]) {
    await replace(nameA, wrong);
    expect(await isAccepted(a.apiKey)).toBe(false);
  }
  await replace(nameA, (await storage.read(nameB, whole)) as Uint8Array);
  expect(await isAccepted(a.apiKey)).toBe(false);
  await replace(nameA, bytes);
  expect(await isAccepted(a.apiKey)).toBe(true);
});

test("another root key accepts none of the keys, and lists the records that it cannot authenticate", async () => {
  const { apiKey, record } = await keys.create({ name: "a", scopes: ["read"] });
  const others = new KeyStore(storage, `${rootKey}x`, () => now);
  expect(await new IssuedKeys(others).callerOf(apiKey, mayRead)).toBeUndefined();
  expect(await allPages(others)).toEqual([{ records: [], unknown: [record.id] }]);
});

test("keys are listed in the order of their ids, in pages, and a page reads no more than its records", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 600; i++) ids.push((await keys.create({ name: `${i}`, scopes: ["read"] })).record.id);
  ids.sort();
  const pages = await allPages(keys);
  expect(pages.map(({ records }) => records.length)).toEqual([256, 256, 88]);
  expect(pages.flatMap(({ records }) => records.map(({ id }) => id))).toEqual(ids);
  expect(pages.flatMap(({ unknown }) => unknown)).toEqual([]);

  reads = [];
  for await (const { records } of keys.pages({ after: ids[99], limit: 10 })) {
    expect(records.map(({ id }) => id)).toEqual(ids.slice(100, 110));
    break;
  }
  expect(reads).toHaveLength(10);
  expect(await allPages(keys, { after: ids[599] })).toEqual([{ records: [], unknown: [] }]);
});

test("the last uses of a page are read, and of no other keys", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 40; i++) ids.push((await keys.create({ name: `${i}`, scopes: ["read"] })).record.id);
  ids.sort();
  const other = new KeyStore(storage, rootKey, () => now);
  for (const id of ids.slice(0, 39)) other.lastUses.note(id);
  await other.lastUses.close();
  reads = [];
  const page = ids.slice(30);
  expect(await keys.lastUses.list(page)).toEqual(new Map(ids.slice(30, 39).map((id) => [id, now])));
  expect(reads).toHaveLength(9);
  expect(await keys.lastUses.list([])).toEqual(new Map());
});
