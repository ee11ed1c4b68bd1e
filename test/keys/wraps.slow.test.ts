/** Wraps: who opens an index with which key, the access of each, and the remains of a revoked key. */

import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type BlobStore, copyIndex, createClient, generateKey } from "../../src/core.js";
import { encodeManifest, openManifest } from "../../src/state/commit/stored-manifest.js";
import { openFolder } from "../../src/state/commit/index-folder.js";
import { manifestName, manifestPrefix, numberOf } from "../../src/state/commit/object-names.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { openRecord } from "../../src/index/open/index-record.js";
import { parseIndexKey } from "../../src/crypto/keys.js";
import { generationOf, openObject, sealObject } from "../../src/crypto/sealed-object.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { VectorIndex } from "../../src/api/vector-index.js";
import { faultyStore, mishaps, switchedStore } from "../protocol/faulty-store.js";
import { StandingClock } from "../protocol/standing-clock.js";
import { whole } from "../ranges.js";
import { codeOf } from "../outcome.js";

const indexName = "shared";

function open(store: BlobStore, maxStalenessMs = 0) {
  return createClient({ indexLocation: store, maxStalenessMs, automaticTraining: false });
}

async function newIndex(store: BlobStore) {
  const indexKey = generateKey();
  const index = await open(store).createIndex({ indexName, indexKey });
  await index.upsert([{ id: "a", vector: [1, 2], contents: "first" }]);
  return { index, indexKey };
}

/** An index with a wrap for one other holder, "reader" or "writer". */
async function sharedIndex(access: "read-only" | "read-write") {
  const store = createMemoryStore();
  const { index, indexKey } = await newIndex(store);
  const key = generateKey();
  await index.wraps.add({ name: access === "read-only" ? "reader" : "writer", key, access });
  return { store, index, indexKey, key };
}

function load(store: BlobStore, indexKey: string) {
  return open(store).loadIndex({ indexName, indexKey });
}

const changes: Record<string, (index: VectorIndex) => Promise<unknown>> = {
  upsert: (index) => index.upsert([{ id: "b", vector: [2, 3] }]),
  delete: (index) => index.delete({ ids: ["a"] }),
  "delete by filter": (index) => index.delete({ filter: { x: 1 } }),
  train: (index) => index.train(),
  compact: (index) => index.compact(),
};

const management: Record<string, (index: VectorIndex) => Promise<unknown>> = {
  rotateKey: (index) => index.rotateKey(generateKey()),
  "wraps.add": (index) => index.wraps.add({ name: "x", key: generateKey(), access: "read-only" }),
  "wraps.list": (index) => index.wraps.list(),
  "wraps.revoke": (index) => index.wraps.revoke("reader"),
};

test("a reader reads everything and changes nothing: it stores not one byte", async () => {
  const { store, key } = await sharedIndex("read-only");
  const before = await store.list("");
  const reader = await load(store, key);
  expect(await reader.get(["a"])).toMatchObject([{ id: "a", contents: "first" }]);
  expect(await reader.query({ queryVector: [1, 2] })).toHaveLength(1);
  for (const [name, change] of Object.entries({ ...changes, ...management })) {
    expect(await codeOf(change(reader)), name).toBe("forbidden");
  }
  expect(await codeOf(open(store).deleteIndex({ indexName, indexKey: key }))).toBe("forbidden");
  expect(await store.list("")).toEqual(before);
});

test("a writer changes items, and manages no keys", async () => {
  const { store, index, key } = await sharedIndex("read-write");
  const writer = await load(store, key);
  for (const name of ["upsert", "delete", "compact"] as const) await changes[name](writer);
  expect(await index.listIds()).toEqual(["b"]);
  for (const [name, manage] of Object.entries(management)) {
    expect(await codeOf(manage(writer)), name).toBe("forbidden");
  }
  expect(await codeOf(open(store).deleteIndex({ indexName, indexKey: key }))).toBe("forbidden");
});

test("wraps are listed with their options, the owner's first", async () => {
  const store = createMemoryStore();
  const { index, indexKey } = await newIndex(store);
  const expiresAt = new Date(Date.now() + 1e9);
  await index.wraps.add({ name: "Zoë", key: generateKey(), access: "read-only", expiresAt });
  await index.wraps.add({ name: "service", key: generateKey(), access: "read-write" });
  const expected = [
    { name: "owner", access: "owner" },
    { name: "Zoë", access: "read-only", expiresAt },
    { name: "service", access: "read-write" },
  ];
  expect(await index.wraps.list()).toEqual(expected);
  expect(await (await load(store, indexKey)).wraps.list()).toEqual(expected);
});

test("a name or a key is taken once, and only wraps that exist are revoked", async () => {
  const store = createMemoryStore();
  const { index, indexKey } = await newIndex(store);
  const key = generateKey();
  await index.wraps.add({ name: "one", key, access: "read-only" });
  const add = (name: string, given: string) =>
    codeOf(index.wraps.add({ name, key: given, access: "read-only" }));
  expect(await add("one", generateKey())).toBe("already_exists");
  expect(await add("owner", generateKey())).toBe("already_exists");
  expect(await add("two", key)).toBe("already_exists");
  expect(await add("two", indexKey)).toBe("already_exists");
  expect(await codeOf(index.rotateKey(key))).toBe("already_exists");
  expect(await codeOf(index.wraps.revoke("two"))).toBe("not_found");
  expect(await codeOf(index.wraps.revoke("owner"))).toBe("not_found");
  expect(await index.wraps.list()).toHaveLength(2);
});

test.each([
  { name: "", key: "0".repeat(64), access: "read-only" },
  { name: "a\n", key: "0".repeat(64), access: "read-only" },
  { name: "a", key: "00", access: "read-only" },
  { name: "a", key: "0".repeat(64), access: "owner" },
  { name: "a", key: "0".repeat(64), access: "read-only", expiresAt: new Date(0) },
  { name: "a", key: "0".repeat(64), access: "read-only", expiresAt: 1e15 },
  { name: "a", key: "0".repeat(64), access: "read-only", until: 1 },
])("a wrap that cannot be right is refused: %j", async (wrap) => {
  const { index } = await newIndex(createMemoryStore());
  expect(await codeOf(index.wraps.add(wrap as never))).toBe("invalid_request");
});

test("256 wraps at most, and the last opens the index", async () => {
  const store = createMemoryStore();
  const { index } = await newIndex(store);
  let last = "";
  for (let i = 1; i < 256; i++) {
    last = generateKey();
    await index.wraps.add({ name: `${i}`, key: last, access: "read-only" });
  }
  expect(await codeOf(index.wraps.add({ name: "x", key: generateKey(), access: "read-only" }))).toBe(
    "too_large",
  );
  expect(await (await load(store, last)).count()).toBe(1);
});

describe("revoking a wrap", () => {
  test("ends it at once in every process, and the others continue without notice", async () => {
    const store = createMemoryStore();
    const { index, indexKey } = await newIndex(store);
    const [gone, stays, writes] = [generateKey(), generateKey(), generateKey()];
    await index.wraps.add({ name: "gone", key: gone, access: "read-write" });
    await index.wraps.add({ name: "stays", key: stays, access: "read-only" });
    await index.wraps.add({ name: "writes", key: writes, access: "read-write" });
    const [revoked, reader, writer, owner] = await Promise.all(
      [gone, stays, writes, indexKey].map((key) => load(store, key)),
    );
    for (const each of [revoked, reader, writer, owner]) expect(await each.count()).toBe(1);
    await index.wraps.revoke("gone");
    expect(await codeOf(revoked.count())).toBe("wrong_index_key");
    expect(await codeOf(revoked.upsert([{ id: "x", vector: [0, 0] }]))).toBe("wrong_index_key");
    expect(await codeOf(load(store, gone))).toBe("wrong_index_key");
    await writer.upsert([{ id: "b", vector: [2, 3] }]);
    await owner.upsert([{ id: "c", vector: [2, 4] }]);
    expect(await reader.listIds()).toEqual(["a", "b", "c"]);
    expect(await (await load(store, stays)).listIds()).toEqual(["a", "b", "c"]);
  });

  test("nothing that is committed afterwards is sealed under keys that it had, whoever wrote", async () => {
    const store = createMemoryStore();
    const { index } = await newIndex(store);
    const [gone, writes] = [generateKey(), generateKey()];
    await index.wraps.add({ name: "gone", key: gone, access: "read-only" });
    await index.wraps.add({ name: "writes", key: writes, access: "read-write" });
    const writer = await load(store, writes);
    await writer.count();
    const { manifest: earlier } = await newestManifest(store, writes);
    const before = new Set(earlier.segments.map(({ name }) => name));
    await index.wraps.revoke("gone");
    // The writer has the old keys and does not know yet.
    await writer.upsert([{ id: "b", vector: [2, 3] }]);
    await index.upsert([{ id: "c", vector: [2, 3] }]);
    const { segments } = (await newestManifest(store, writes)).manifest;
    const added = segments.filter(({ name }) => !before.has(name));
    expect(added).toHaveLength(2);
    for (const { header } of added)
      expect(generationOf(Buffer.from(header, "base64"))).toBeGreaterThan(earlier.keyGeneration);
  });

  test("takes three creates, however many rows there are", async () => {
    const store = createMemoryStore();
    const { index } = await newIndex(store);
    await index.upsert(Array.from({ length: 3000 }, (_, i) => ({ id: `${i}`, vector: [i, 1] })));
    await index.wraps.add({ name: "gone", key: generateKey(), access: "read-only" });
    const sizes: number[] = [];
    const { create } = store;
    store.create = (key, bytes) => {
      sizes.push(bytes.length);
      return create(key, bytes);
    };
    await index.wraps.revoke("gone");
    expect(sizes).toHaveLength(3);
    expect(Math.max(...sizes)).toBeLessThan(4096);
  });

  test.each(mishaps)(
    "by a process whose store %s can be repeated, and ends as if nothing had happened",
    async (mishap) => {
      for (let call = 0; ; call++) {
        const store = createMemoryStore();
        const { index, indexKey } = await newIndex(store);
        const [gone, stays] = [generateKey(), generateKey()];
        await index.wraps.add({ name: "gone", key: gone, access: "read-write" });
        await index.wraps.add({ name: "stays", key: stays, access: "read-write" });
        const switched = switchedStore(store);
        const owner = await load(switched, indexKey);
        const faulty = faultyStore(store, call, mishap);
        switched.target = faulty;
        const outcome = await codeOf(owner.wraps.revoke("gone"));
        switched.target = store;
        if (faulty.struck === undefined) {
          expect(outcome).toBe("done");
          break;
        }
        expect(await codeOf(owner.wraps.revoke("gone"))).toMatch(/done|not_found/);
        expect(await codeOf(load(store, gone)), faulty.struck).toBe("wrong_index_key");
        const writer = await load(store, stays);
        await writer.upsert([{ id: "b", vector: [2, 3] }]);
        expect(await owner.listIds()).toEqual(["a", "b"]);
      }
    },
  );
});

describe("an attacker with a key and the storage", () => {
  test("that is a reader's makes no commit that anybody accepts", async () => {
    const { store, index, indexKey, key } = await sharedIndex("read-only");
    const other = await load(store, indexKey);
    await other.count();
    await forge(store, await newestManifest(store, key));
    expect(await codeOf(index.count())).toBe("corrupt");
    expect(await codeOf(other.count())).toBe("corrupt");
    expect(await codeOf(load(store, key))).toBe("corrupt");
  });

  test("of a writer makes one: the forgery of the test works", async () => {
    const { store, index, key } = await sharedIndex("read-write");
    await forge(store, await newestManifest(store, key));
    expect(await index.count()).toBe(0);
  });

  test("that was a writer's until it was revoked makes none any more", async () => {
    const { store, index, indexKey, key } = await sharedIndex("read-write");
    const before = await newestManifest(store, key);
    const other = await load(store, indexKey);
    await other.count();
    await index.wraps.revoke("writer");
    await forge(store, before);
    expect(await codeOf(other.count())).toBe("rollback_detected");
    expect(await codeOf(index.count())).toBe("rollback_detected");
    expect(await codeOf(load(store, indexKey).then((fresh) => fresh.count()))).toBe("rollback_detected");
  });
});

test("an access that ends opens nothing from then on, in processes that are open as well", async () => {
  const store = createMemoryStore();
  const clock = new StandingClock();
  const owner = new EmbeddedClient({ indexLocation: store }, clock);
  const key = generateKey();
  const index = await owner.createIndex({ indexName, indexKey: generateKey() });
  await index.wraps.add({
    name: "guest",
    key,
    access: "read-only",
    expiresAt: new Date(clock.wall() + 1000),
  });
  const guests = new EmbeddedClient({ indexLocation: store }, clock);
  const guest = await guests.loadIndex({ indexName, indexKey: key });
  clock.advance(999);
  expect(await codeOf(guest.count())).toBe("done");
  clock.advance(1);
  expect(await codeOf(guest.count())).toBe("forbidden");
  expect(await codeOf(guests.loadIndex({ indexName, indexKey: key }))).toBe("forbidden");
  expect(await index.wraps.list()).toHaveLength(2);
  // New keys are not given to those whose access has ended.
  await index.rotateKey(generateKey());
  expect(await index.wraps.list()).toHaveLength(1);
  expect(await codeOf(guests.loadIndex({ indexName, indexKey: key }))).toBe("wrong_index_key");
});

test("rotating the owner's key leaves the keys of others as they are", async () => {
  const { store, index, key } = await sharedIndex("read-write");
  const writer = await load(store, key);
  await index.rotateKey(generateKey());
  await writer.upsert([{ id: "b", vector: [2, 3] }]);
  expect(await (await load(store, key)).listIds()).toEqual(["a", "b"]);
});

test("a copy has the same wraps; under another name only the owner's key makes one", async () => {
  const [from, to] = [createMemoryStore(), createMemoryStore()];
  const { index, indexKey } = await newIndex(from);
  const key = generateKey();
  await index.wraps.add({ name: "reader", key, access: "read-only" });
  const copy = (options: object) =>
    codeOf(
      copyIndex({
        from: { indexLocation: from },
        to: { indexLocation: to },
        indexName,
        indexKey,
        ...options,
      }),
    );
  expect(await copy({ indexKey: key, newName: "renamed" })).toBe("forbidden");
  expect(await copy({ newName: "renamed" })).toBe("done");
  const copied = await open(to).loadIndex({ indexName: "renamed", indexKey: key });
  expect(await copied.listIds()).toEqual(["a"]);
  const third = createMemoryStore();
  expect(await copy({ indexKey: key, to: { indexLocation: third } })).toBe("done");
  expect(await (await load(third, indexKey)).wraps.list()).toHaveLength(2);
});

test("a copy during which keys are renewed has the keys and the state of afterwards", async () => {
  const { store: from, index, indexKey, key } = await sharedIndex("read-only");
  const to = createMemoryStore();
  let isRenewed = false;
  const interrupted: BlobStore = {
    ...to,
    async create(name, bytes, options) {
      const created = await to.create(name, bytes, options);
      if (!isRenewed && name.includes("/manifest/")) {
        isRenewed = true;
        await index.wraps.revoke("reader");
      }
      return created;
    },
  };
  await copyIndex({ from: { indexLocation: from }, to: { indexLocation: interrupted }, indexName, indexKey });
  expect(isRenewed).toBe(true);
  expect(await (await load(to, indexKey)).listIds()).toEqual(["a"]);
  expect(await codeOf(load(to, key))).toBe("wrong_index_key");
});

test("of wraps that two processes add at the same time none is lost", async () => {
  const store = createMemoryStore();
  const { index, indexKey } = await newIndex(store);
  const other = await load(store, indexKey);
  const names = Array.from({ length: 12 }, (_, i) => `w${i}`);
  await Promise.all(
    names.map((name, i) =>
      (i % 2 ? index : other).wraps.add({ name, key: generateKey(), access: "read-only" }),
    ),
  );
  expect((await index.wraps.list()).map(({ name }) => name).toSorted()).toEqual(
    ["owner", ...names].toSorted(),
  );
  expect(await store.list("names/")).toHaveLength(1);
});

/** The newest manifest, and the record, as the holder of a key opens them. */
async function newestManifest(store: BlobStore, key: string) {
  const [recordName] = await store.list("names/");
  const stored = (await store.read(recordName, whole)) as Uint8Array;
  const record = await openRecord(parseIndexKey(key), { indexName, name: recordName, bytes: stored });
  const folder = openFolder(store, indexName);
  const [name] = await folder.list(manifestPrefix(record.indexId));
  const bytes = (await folder.read(name, whole)) as Uint8Array;
  const plaintext = openObject(record.keys.data, { kind: "manifest", indexId: record.indexId, name }, bytes);
  const { manifest } = openManifest(record.keys, record.indexId, numberOf(name), bytes);
  return { record, signature: plaintext.slice(0, 64), manifest };
}

type Opened = Awaited<ReturnType<typeof newestManifest>>;

/** Stores an empty manifest after the newest one, by a holder who opened the index before, signed with that holder's keys. */
async function forge(store: BlobStore, { record, signature, manifest }: Opened) {
  const { indexId, keys } = record;
  const folder = openFolder(store, indexName);
  const [newest] = await folder.list(manifestPrefix(indexId));
  const previous = createHash("sha256")
    .update((await folder.read(newest, whole)) as Uint8Array)
    .digest("hex");
  const version = numberOf(newest) + 1;
  const text = Buffer.from(JSON.stringify(encodeManifest({ ...manifest, version, previous, segments: [] })));
  // A reader has no key to sign with: an old signature is all there is.
  const sign = () => keys.sign("sealdex/1/manifest", Buffer.concat([indexId, text]));
  const made = keys.access === "read-only" ? signature : sign();
  const name = manifestName(indexId, version);
  const bytes = sealObject(keys.data, { kind: "manifest", indexId, name }, Buffer.concat([made, text]));
  await folder.create(name, bytes);
}

describe("a deletion while another process changes the keys", () => {
  const changesOfKeys: Record<string, (index: VectorIndex) => Promise<unknown>> = {
    "adds a wrap": (index) => index.wraps.add({ name: "x", key: generateKey(), access: "read-only" }),
    "revokes a wrap": (index) => index.wraps.revoke("reader"),
    "renews data keys": (index) => index.reencrypt(),
  };

  async function expectFreeName(store: BlobStore, indexKey: string): Promise<void> {
    expect(await store.list("names/")).toEqual([]);
    await open(store).createIndex({ indexName, indexKey });
  }

  test.each(Object.keys(changesOfKeys))(
    "leaves no record if the other %s when the records were listed",
    async (name) => {
      const { store, index, indexKey } = await sharedIndex("read-only");
      let hasChanged = false;
      const interrupted: BlobStore = {
        ...store,
        async delete(keys, options) {
          if (!hasChanged && keys.some((key) => key.startsWith("names/"))) {
            hasChanged = true;
            await changesOfKeys[name](index);
          }
          await store.delete(keys, options);
        },
      };
      await open(interrupted).deleteIndex({ indexName, indexKey });
      expect(hasChanged).toBe(true);
      await expectFreeName(store, indexKey);
    },
  );

  test.each(Object.keys(changesOfKeys))(
    "leaves no record if the other %s and stores it after all else",
    async (name) => {
      const { store, indexKey } = await sharedIndex("read-only");
      let deleted: Promise<void> | undefined;
      const delayed: BlobStore = {
        ...store,
        async create(key, bytes, options) {
          if (deleted === undefined && key.startsWith("names/")) {
            deleted = open(store).deleteIndex({ indexName, indexKey });
            await deleted;
          }
          return store.create(key, bytes, options);
        },
      };
      const other = await load(delayed, indexKey);
      expect(await codeOf(changesOfKeys[name](other))).toBe("not_found");
      expect(deleted).toBeDefined();
      await expectFreeName(store, indexKey);
    },
  );

  test("spares the index that has its name by then", async () => {
    const { store, index, indexKey } = await sharedIndex("read-only");
    let next: Promise<VectorIndex> | undefined;
    const interrupted: BlobStore = {
      ...store,
      async create(key, bytes, options) {
        if (next === undefined && key.includes("/manifest/")) {
          next = open(store).createIndex({ indexName, indexKey });
          await next;
        }
        return store.create(key, bytes, options);
      },
    };
    await open(interrupted).deleteIndex({ indexName, indexKey });
    expect(next).toBeDefined();
    expect(await codeOf(index.count())).toBe("not_found");
    expect(await (await load(store, indexKey)).count()).toBe(0);
  });

  test("spares an index that is created under a record's key between the list and the read of it", async () => {
    const store = createMemoryStore();
    const { indexKey } = await newIndex(store);
    const nextKey = generateKey();
    let listed = 0;
    const interrupted: BlobStore = {
      ...store,
      async list(prefix, options) {
        const keys = await store.list(prefix, options);
        // First to open the index, then to delete its records: by then another process has deleted it.
        if (prefix.startsWith("names/") && ++listed === 2)
          await open(store).deleteIndex({ indexName, indexKey });
        return keys;
      },
      async read(key, range, options) {
        const bytes = await store.read(key, range, options);
        if (key.startsWith("names/") && bytes === null && listed === 2) {
          listed++;
          await open(store).createIndex({ indexName, indexKey: nextKey });
        }
        return bytes;
      },
    };
    await codeOf(open(interrupted).deleteIndex({ indexName, indexKey }));
    expect(listed).toBeGreaterThan(2);
    expect(await (await load(store, nextKey)).count()).toBe(0);
  });
});
