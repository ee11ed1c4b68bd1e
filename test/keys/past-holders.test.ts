/**
 * Attacks by a former holder of a key who controls the storage: every object that was ever
 * stored may be shown again, and others in their place.
 */

import { describe, expect, test } from "vitest";
import { createClient, generateKey, SealdexError } from "../../src/core.js";
import { openFolder } from "../../src/state/commit/index-folder.js";
import { namespaceName, numberOf } from "../../src/state/commit/object-names.js";
import { historyMs } from "../../src/state/commit/retention.js";
import { fingerprint, parseIndexKey } from "../../src/crypto/keys.js";
import { openObject, sealObject } from "../../src/crypto/sealed-object.js";
import { EmbeddedClient } from "../../src/index/embedded-client.js";
import { openRecord, useKeyset, wrapKeysOf } from "../../src/index/open/index-record.js";
import type { VectorIndex } from "../../src/api/vector-index.js";
import { StandingClock } from "../protocol/standing-clock.js";
import { whole } from "../ranges.js";
import { storeOf } from "../security/world.js";

const indexName = "watched";

type Stored = Map<string, Uint8Array>;

function open(blobs: Stored, anchors?: Stored, clock?: StandingClock) {
  const options = {
    indexLocation: storeOf(blobs),
    ...(anchors && { anchorLocation: storeOf(anchors) }),
    automaticTraining: false,
  };
  return clock === undefined ? createClient(options) : new EmbeddedClient(options, clock);
}

const load = (blobs: Stored, indexKey: string) => open(blobs).loadIndex({ indexName, indexKey });

function outcomeOf<T>(call: Promise<T>): Promise<T | string> {
  return call.catch((error: unknown) => (error instanceof SealdexError ? error.code : String(error)));
}

const isRecord = (key: string) => key.startsWith("names/");
const isManifest = (key: string) => key.includes("/manifest/");
const isSecret = (key: string) => key.includes("/namespace/");

/** The record that a storage shows first. */
function newestRecord(blobs: Stored) {
  const [name] = [...blobs.keys()].filter(isRecord).sort();
  return { indexName, name, bytes: blobs.get(name) ?? new Uint8Array() };
}

/** A storage that keeps a copy of everything that was ever stored, deleted objects included. */
class Hoard extends Map<string, Uint8Array> {
  readonly all: Stored = new Map();

  override set(key: string, bytes: Uint8Array): this {
    this.all?.set(key, bytes);
    return super.set(key, bytes);
  }
}

async function newIndex(blobs: Stored, anchors?: Stored) {
  const indexKey = generateKey();
  const index = await open(blobs, anchors).createIndex({ indexName, indexKey });
  await index.upsert([{ id: "a", vector: [1, 0] }]);
  return { index, indexKey };
}

/** Manifests that a thief makes from a copy, with the library itself, and shows instead of the present ones. */
async function forgeFrom(copy: Stored, key: string, commits: number, shown: Stored): Promise<void> {
  const thief = await load(copy, key);
  for (let i = 0; i < commits; i++) await thief.upsert([{ id: `forged ${i}`, vector: [2, i] }]);
  for (const name of shown.keys()) if (isManifest(name)) shown.delete(name);
  for (const [name, bytes] of copy) if (!isRecord(name)) shown.set(name, bytes);
}

describe("commits of keys that were replaced", () => {
  test.each([1, 2, 3, 9])("by a revoked writer are no state for anybody: %i of them", async (commits) => {
    const blobs = new Hoard();
    const { index, indexKey } = await newIndex(blobs);
    const [writer, reader] = [generateKey(), generateKey()];
    await index.wraps.add({ name: "writer", key: writer, access: "read-write" });
    await index.wraps.add({ name: "reader", key: reader, access: "read-only" });
    const copy: Stored = new Map(blobs);
    await index.wraps.revoke("writer");
    await index.upsert([{ id: "b", vector: [0, 1] }]);
    await forgeFrom(copy, writer, commits, blobs);
    for (const key of [indexKey, reader]) {
      expect(await outcomeOf(load(blobs, key))).toBe("rollback_detected");
      // Older records that are put back next to the newest make no difference.
      const shown = new Map(blobs);
      for (const [name, bytes] of blobs.all) if (isRecord(name)) shown.set(name, bytes);
      expect(await outcomeOf(load(shown, key))).toBe("rollback_detected");
    }
    // A process that remembers its own history sees the longer of the two.
    expect(["rollback_detected", "a b"]).toContain(
      await outcomeOf(index.listIds().then((ids) => ids.join(" "))),
    );
  });

  test("by a stolen owner's key are none for the key that replaced it, whichever records are shown again", async () => {
    const blobs = new Hoard();
    const { index, indexKey } = await newIndex(blobs);
    const copy: Stored = new Map(blobs);
    const next = generateKey();
    await index.rotateKey(next);
    await index.reencrypt();
    await index.upsert([{ id: "b", vector: [0, 1] }]);
    const records = [...blobs.all.keys()].filter(isRecord).sort();
    expect(records.length).toBeGreaterThan(4);
    // Any two of them, so that each can be the newest, with any other one behind it.
    for (const [i, first] of records.entries()) {
      for (const second of records.slice(i)) {
        const shown: Stored = new Map([...blobs.all].filter(([name]) => !isRecord(name)));
        for (const name of [first, second]) shown.set(name, blobs.all.get(name) ?? new Uint8Array());
        await forgeFrom(new Map(copy), indexKey, 2, shown);
        const read = await outcomeOf(load(shown, next).then((one) => one.listIds()));
        expect(["rollback_detected", "wrong_index_key", "corrupt"], `${i} ${String(read)}`).toContain(read);
      }
    }
    // The forgery itself works.
    const rolledBack: Stored = new Map(copy);
    await forgeFrom(new Map(copy), indexKey, 2, rolledBack);
    expect(await outcomeOf(load(rolledBack, indexKey).then((one) => one.listIds()))).toContain("forged 1");
  });

  test("are checked by keys that the record lets go of, once nothing is sealed under them", async () => {
    const blobs: Stored = new Map();
    const clock = new StandingClock();
    const indexKey = generateKey();
    const client = open(blobs, undefined, clock);
    const index = await client.createIndex({ indexName, indexKey });
    await index.upsert([{ id: "a", vector: [1, 0] }]);
    const generations = async (key: string) => {
      const record = newestRecord(blobs);
      const wrapKeys = await wrapKeysOf(parseIndexKey(key), record);
      return useKeyset(wrapKeys, record, (keyset) => keyset.generations.map(({ number }) => number));
    };
    const next = generateKey();
    await index.rotateKey(next);
    await index.reencrypt();
    // Manifests of the first generation are still there.
    expect(await generations(next)).toHaveLength(3);
    for (let i = 0; i < 4; i++) {
      clock.advance(historyMs);
      await index.upsert([{ id: `b${i}`, vector: [0, 1] }]);
    }
    await index.compact();
    await client.close();
    expect(await generations(next)).toHaveLength(1);
    expect([...blobs.keys()].filter(isRecord)).toHaveLength(1);
  });
});

test("a change of keys that another process has overtaken is made on top of the other's", async () => {
  const blobs: Stored = new Map();
  const { index, indexKey } = await newIndex(blobs);
  const other = await load(blobs, indexKey);
  const keys = Array.from({ length: 6 }, generateKey);
  for (const [i, key] of keys.entries()) await index.wraps.add({ name: `${i}`, key, access: "read-only" });
  const changes = keys.slice(0, 4).map((_, i) => (i % 2 === 0 ? index : other).wraps.revoke(`${i}`));
  const added = generateKey();
  changes.push(other.wraps.add({ name: "added", key: added, access: "read-only" }));
  await Promise.all(changes);
  expect((await index.wraps.list()).map(({ name }) => name)).toEqual(["owner", "4", "5", "added"]);
  for (const key of keys.slice(0, 4)) expect(await outcomeOf(load(blobs, key))).toBe("wrong_index_key");
  for (const key of [...keys.slice(4), added]) expect(await (await load(blobs, key)).count()).toBe(1);
});

describe("secrets of namespaces", () => {
  /** Two namespaces, and the keys of a reader who was revoked before they were written. */
  async function world() {
    const blobs: Stored = new Map();
    const { index, indexKey } = await newIndex(blobs);
    const reader = generateKey();
    await index.wraps.add({ name: "reader", key: reader, access: "read-only" });
    const { keys, indexId } = await openRecord(parseIndexKey(reader), newestRecord(blobs));
    await index.wraps.revoke("reader");
    await index.reencrypt();
    for (const namespace of ["ann", "bob"])
      await index.upsert([{ id: "1", vector: [1, 0], contents: `of ${namespace}` }], { namespace });
    const folder = openFolder(storeOf(blobs), indexName);
    const nameOf = (name: string, erasures: number) =>
      namespaceName(indexId, fingerprint(keys.namespaceName, name), erasures);
    /** The content of the secret of a namespace. */
    const secretOf = async (name: string, erasures: number) => {
      const object = nameOf(name, erasures);
      const context = { kind: "namespace", indexId, name: object } as const;
      return openObject(keys.namespace, context, (await folder.read(object, whole)) ?? new Uint8Array());
    };
    const plant = async (name: string, erasures: number, secret: Uint8Array) => {
      const object = nameOf(name, erasures);
      const plaintext = Buffer.concat([secret.subarray(0, 32), Buffer.from(name)]);
      await folder.delete([object]);
      const context = { kind: "namespace", indexId, name: object } as const;
      await folder.create(object, sealObject(keys.namespace, context, plaintext));
    };
    return { blobs, index, indexKey, secretOf, plant };
  }

  const uses: Record<string, (index: VectorIndex) => Promise<unknown>> = {
    get: (index) => index.get(["1"], { namespace: "ann", include: ["contents"] }),
    query: (index) => index.query({ queryVector: [1, 0], namespace: "ann" }),
    upsert: (index) => index.upsert([{ id: "2", vector: [1, 1] }], { namespace: "ann" }),
    delete: (index) => index.delete({ ids: ["1"] }, { namespace: "ann" }),
    list: (index) => index.namespaces.list(),
  };

  test("that are exchanged open nothing: no call reads or changes another namespace", async () => {
    const { blobs, indexKey, secretOf, plant } = await world();
    const [ann, bob] = [await secretOf("ann", 0), await secretOf("bob", 0)];
    await plant("ann", 0, bob);
    await plant("bob", 0, ann);
    const before = [...blobs.keys()].length;
    for (const [name, use] of Object.entries(uses))
      expect(await outcomeOf(load(blobs, indexKey).then(use)), name).toBe("corrupt");
    expect([...blobs.keys()]).toHaveLength(before);
    // An erasure needs no secret: it removes the segments that the manifest names, of this namespace alone.
    const index = await load(blobs, indexKey);
    expect(await index.erase("ann")).toMatchObject({ rows: 1 });
    expect(await index.count({ namespace: "ann" })).toBe(0);
    await plant("bob", 0, bob);
    const fresh = await load(blobs, indexKey);
    expect(await fresh.get(["1"], { namespace: "bob", include: ["contents"] })).toMatchObject([
      { contents: "of bob" },
    ]);
  });

  test("that are gone are an error, never a shorter answer", async () => {
    const { blobs, indexKey } = await world();
    for (const key of blobs.keys()) if (isSecret(key)) blobs.delete(key);
    for (const [name, use] of Object.entries(uses))
      expect(await outcomeOf(load(blobs, indexKey).then(use)), name).toBe("missing_object");
  });

  test("that are there before a namespace is written are that of it, and no others from then on", async () => {
    const { blobs, indexKey, secretOf, plant } = await world();
    const planted = await secretOf("ann", 0);
    await plant("carl", 0, planted);
    const namespace = "carl";
    await (await load(blobs, indexKey)).upsert([{ id: "1", vector: [1, 0] }], { namespace });
    await plant("carl", 0, await secretOf("bob", 0));
    const others = await load(blobs, indexKey);
    expect(await outcomeOf(others.count({ namespace }))).toBe("corrupt");
    expect(await outcomeOf(others.upsert([{ id: "2", vector: [1, 0] }], { namespace }))).toBe("corrupt");
    await plant("carl", 0, planted);
    const index = await load(blobs, indexKey);
    expect(await index.listIds({ namespace })).toEqual(["1"]);
    expect(await index.listIds({ namespace: "ann" })).toEqual(["1"]);
  });

  test("that differ between two processes which write a namespace first are never both of it", async () => {
    const { blobs, index, indexKey, secretOf, plant } = await world();
    const namespace = "carl";
    const other = await load(blobs, indexKey);
    await plant("carl", 0, await secretOf("ann", 0));
    await index.upsert([{ id: "1", vector: [1, 0] }], { namespace });
    await plant("carl", 0, await secretOf("bob", 0));
    expect(await outcomeOf(other.upsert([{ id: "2", vector: [1, 0] }], { namespace }))).toBe("corrupt");
    expect(await index.listIds({ namespace })).toEqual(["1"]);
  });
});

describe("receipts of erasures", () => {
  const namespace = "ann";

  test("are not signed for items that remain, whatever the storage lists", async () => {
    const blobs: Stored = new Map();
    let isHiding = false;
    const store = storeOf(blobs);
    const hiding = {
      ...store,
      list: async (...args: Parameters<typeof store.list>) =>
        isHiding && isSecret(args[0]) ? [] : store.list(...args),
    };
    const client = createClient({ indexLocation: hiding, automaticTraining: false });
    const indexKey = generateKey();
    const index = await client.createIndex({ indexName, indexKey });
    await index.upsert([{ id: "1", vector: [1] }], { namespace });
    isHiding = true;
    const { receipt, ...erasure } = await index.erase(namespace);
    expect(erasure).toMatchObject({ namespace, rows: 1 });
    isHiding = false;
    expect([...blobs.keys()].filter(isSecret)).toEqual([]);
    const fresh = await load(blobs, indexKey);
    expect(await fresh.count({ namespace })).toBe(0);
    expect(await fresh.namespaces.readReceipt(receipt)).toEqual(erasure);
    // It does not exist, by the newest manifest.
    expect(await fresh.erase(namespace)).toMatchObject({ rows: 0, version: erasure.version });
  });

  test("count if keys signed them that were in force then, of a version and a time that have been", async () => {
    const blobs: Stored = new Map();
    const { index, indexKey } = await newIndex(blobs);
    const writer = generateKey();
    await index.wraps.add({ name: "writer", key: writer, access: "read-write" });
    const { keys, indexId } = await openRecord(parseIndexKey(writer), newestRecord(blobs));
    await index.wraps.revoke("writer");
    const { version: now } = await index.erase(namespace);
    const signed = (version: number, erasedAt: number) => {
      const id = Buffer.from(indexId).toString("hex");
      const text = Buffer.from(
        JSON.stringify({ indexId: id, namespace, erasedAt, rows: 5, version, keyGeneration: 1 }),
      );
      const signature = Buffer.from(keys.sign("sealdex/1/erasure", text)).toString("base64url");
      return `sealdex-erasure-1-${text.toString("base64url")}.${signature}`;
    };
    const read = async (version: number, erasedAt = Date.now()) =>
      outcomeOf((await load(blobs, indexKey)).namespaces.readReceipt(signed(version, erasedAt)));
    // While it was a writer, it could.
    expect(await read(1)).toMatchObject({ rows: 5 });
    for (const version of [now, now + 1, 999]) expect(await read(version)).toBe("invalid_request");
    expect(await read(1, Date.now() + 3_600_000)).toBe("invalid_request");
    expect(await read(1, Date.now() + 60_000)).toMatchObject({ rows: 5 });
  });
});

describe("an open process that was idle", () => {
  test.each([
    ["shows all of another history", false],
    ["hides the manifest after the one that is remembered", true],
  ])("notices if the storage %s, however long that has become", async (_, isHidden) => {
    // While its memory is valid, hidden objects pass for unwritten ones.
    for (const minutes of isHidden ? [4, 10] : [0, 4, 10]) {
      const blobs: Stored = new Map();
      const clock = new StandingClock();
      const indexKey = generateKey();
      const index = await open(blobs, undefined, clock).createIndex({ indexName, indexKey });
      await index.upsert([{ id: "secret", vector: [1] }]);
      const before = new Map(blobs);
      await index.delete({ ids: ["secret"] });
      await index.upsert([{ id: "mine", vector: [3] }]);
      const remembered = [...blobs.keys()].filter(isManifest).sort()[0];
      blobs.clear();
      for (const [name, bytes] of before) blobs.set(name, bytes);
      const other = await open(blobs, undefined, clock).loadIndex({ indexName, indexKey });
      for (let i = 0; i < 4; i++) await other.upsert([{ id: `other ${i}`, vector: [4] }]);
      clock.advance(minutes * 60_000);
      const next = remembered.replace(/\d+$/, (digits) => String(Number(digits) - 1).padStart(16, "0"));
      expect(numberOf(next)).toBe(numberOf(remembered) + 1);
      expect(blobs.has(next)).toBe(true);
      if (isHidden) blobs.delete(next);
      expect(await outcomeOf(index.listIds()), `${minutes}`).toBe("rollback_detected");
    }
  });
});
