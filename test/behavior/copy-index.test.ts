/** Copies of an index: from memory to disk and back, interrupted everywhere, damaged, and while others write. */

import type { CopyProgress } from "../../src/index/maintenance/copy-objects.js";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import {
  collectGarbage,
  copyIndex,
  createClient,
  generateKey,
  type BlobStore,
  type VectorIndex,
} from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { whole } from "../ranges.js";
import { newFolder } from "../folder.js";

const options = { indexName: "books", indexKey: generateKey() };

let folder: string;
beforeEach(async () => {
  folder = await newFolder();
});

function items(count: number, from = 0) {
  return Array.from({ length: count }, (_, i) => ({
    id: `${from + i}`,
    vector: [from + i, (7 * i) % 11, 1],
    contents: `text ${from + i}`,
    metadata: { n: from + i },
  }));
}

/** Everything that can be asked of it. */
async function contentsOf(index: VectorIndex) {
  const ids = await index.listIds();
  // Objects that a client's own changes replaced are not copied.
  const { memory: _, reclaimableBytes: __, ...definition } = await index.describe();
  return {
    items: await index.get(ids),
    near: await index.query({
      queryVector: [3, 4, 1],
      topK: 50,
      nProbes: 5,
      include: ["distance", "metadata"],
    }),
    ...definition,
    indexName: "",
  };
}

/** A trained index of several segments with deleted and replaced items. */
async function makeIndex(store: BlobStore): Promise<VectorIndex> {
  const index = await createClient({ indexLocation: store }).createIndex(options);
  await index.upsert(items(60));
  await index.train({ nLists: 5 });
  await index.upsert(items(20, 50));
  await index.delete({ ids: ["3", "55"] });
  return index;
}

test("an index goes from memory to disk and back, whole, under another name if wanted", async () => {
  const store = createMemoryStore();
  const index = await makeIndex(store);
  const disk = {
    indexLocation: { location: "local" as const, path: join(folder, "index") },
    configLocation: { location: "local" as const, path: join(folder, "config") },
  };
  const progress: CopyProgress[] = [];
  const onProgress = (step: CopyProgress) => progress.push(step);
  await copyIndex({ from: { indexLocation: store }, to: disk, ...options, newName: "backup", onProgress });
  const backup = { indexName: "backup", indexKey: options.indexKey };
  await using client = createClient(disk);
  expect(await client.listIndexes()).toEqual(["backup"]);
  expect(await contentsOf(await client.loadIndex(backup))).toEqual(await contentsOf(index));
  expect(progress.at(0)).toMatchObject({ phase: "copy", objectsDone: 0, bytesDone: 0 });
  expect(progress.at(-1)).toMatchObject({ phase: "verify" });
  const { objectsDone, objects, bytesDone, bytes } = progress.at(-1) as CopyProgress;
  expect([objectsDone, bytesDone]).toEqual([objects, bytes]);

  const memory = createClient({ indexLocation: { location: "memory" } });
  await copyIndex({ from: client, to: memory, ...backup, newName: "books" });
  const restored = await memory.loadIndex(options);
  expect(await contentsOf(restored)).toEqual(await contentsOf(index));
  // The copies go their own ways.
  await restored.upsert(items(1, 1000));
  await index.delete({ ids: ["0"] });
  expect(await restored.count()).toBe((await index.count()) + 2);
});

test("codes that were stored during a training are copied with the older model that they need", async () => {
  const store = createMemoryStore();
  const from = { indexLocation: store };
  const coded = { ...options, indexConfig: { type: "ivf" } as const };
  const index = await createClient(from).createIndex(coded);
  await index.upsert(items(300));
  await index.train({ nLists: 4 });
  const other = await createClient(from).loadIndex(options);
  const { create } = store;
  store.create = async (key, ...rest) => {
    if (key.includes("/model/")) await other.upsert(items(20, 300));
    return create(key, ...rest);
  };
  await index.train({ nLists: 5 });
  store.create = create;
  const to = { indexLocation: createMemoryStore() };
  await copyIndex({ from, to, ...options });
  const copied = await createClient(to).loadIndex(options);
  const near = { queryVector: [301, 3, 1], topK: 320, nProbes: 5 };
  expect(await copied.query(near)).toEqual(await index.query(near));
  await copied.train({ nLists: 6 });
  expect(await copied.count()).toBe(320);
});

test("another name makes another copy, in the same place too, and changes of one do not affect the other", async () => {
  const store = createMemoryStore();
  const index = await makeIndex(store);
  const place = { indexLocation: store };
  const client = createClient(place);
  const before = await contentsOf(index);
  for (const newName of ["alias", "second"])
    await copyIndex({ from: place, to: client, ...options, newName });
  const [alias, second] = await Promise.all(
    ["alias", "second"].map((indexName) => client.loadIndex({ ...options, indexName })),
  );
  await alias.upsert(items(1, 1000));
  await alias.compact();
  await index.delete({ ids: ["0"] });
  expect(await contentsOf(second)).toEqual(before);
  expect(await alias.count()).toBe((await index.count()) + 2);
  await client.deleteIndex(options);
  await collectGarbage(client);
  expect(await client.listIndexes()).toEqual(["alias", "second"]);
  const again = createClient(place);
  expect(await contentsOf(await again.loadIndex({ ...options, indexName: "second" }))).toEqual(before);
  await copyIndex({ from: place, to: place, ...options, indexName: "second", newName: options.indexName });
  expect(await contentsOf(await again.loadIndex(options))).toEqual(before);
});

test("nothing is overwritten, and a complete copy may be asked for again", async () => {
  const store = createMemoryStore();
  const index = await makeIndex(store);
  const other = createMemoryStore();
  const [from, to] = [{ indexLocation: store }, { indexLocation: other }];
  const taken = { code: "already_exists" };
  await createClient(to).createIndex({ indexName: "taken", indexKey: generateKey() });
  await expect(copyIndex({ from, to, ...options, newName: "taken" })).rejects.toMatchObject(taken);
  await copyIndex({ from, to, ...options });
  await copyIndex({ from, to, ...options });
  const copied = await createClient(to).loadIndex(options);
  const before = await contentsOf(copied);
  await index.upsert(items(1, 500));
  await expect(copyIndex({ from, to, ...options })).rejects.toMatchObject(taken);
  expect(await contentsOf(copied)).toEqual(before);
  // Written on both sides, the states have nothing to do with each other any more.
  await copied.upsert(items(1, 600));
  await expect(copyIndex({ from, to, ...options })).rejects.toMatchObject(taken);
  // A copy that was deleted makes room for another.
  await createClient(to).deleteIndex(options);
  await copyIndex({ from, to, ...options });
  expect(await contentsOf(await createClient(to).loadIndex(options))).toEqual(await contentsOf(index));
});

test("copying without the key, or of a missing index, copies nothing", async () => {
  const store = createMemoryStore();
  await makeIndex(store);
  const other = createMemoryStore();
  const [from, to] = [{ indexLocation: store }, { indexLocation: other }];
  await expect(copyIndex({ from, to, ...options, indexKey: generateKey() })).rejects.toMatchObject({
    code: "wrong_index_key",
  });
  await expect(copyIndex({ from, to, ...options, indexName: "none" })).rejects.toMatchObject({
    code: "not_found",
  });
  const remote = createClient({ baseUrl: "http://127.0.0.1:1" });
  await expect(copyIndex({ from: remote as never, to, ...options })).rejects.toMatchObject({
    code: "invalid_request",
  });
  expect(await other.list("")).toEqual([]);
});

/** A store whose calls from number `failing` on fail, after having been done or before. */
function failingFrom(
  store: BlobStore,
  failing: number,
  done: boolean,
): { store: BlobStore; calls: () => number } {
  let calls = 0;
  const wrap =
    <A extends unknown[], T>(run: (...given: A) => Promise<T>) =>
    async (...given: A): Promise<T> => {
      const fails = calls++ >= failing;
      if (fails && !(done && calls === failing + 1)) throw new Error("the process died");
      const result = await run(...given);
      if (fails) throw new Error("the process died");
      return result;
    };
  return {
    calls: () => calls,
    store: {
      read: wrap(store.read),
      create: wrap(store.create),
      list: wrap(store.list),
      delete: wrap(store.delete),
      close: () => store.close(),
    },
  };
}

test("interrupted before or after any operation, it is no index yet or the whole one, and can be resumed", async () => {
  const source = createMemoryStore();
  const expected = await contentsOf(await makeIndex(source));
  const from = { indexLocation: source };
  let interrupted = 0;
  for (const done of [false, true]) {
    for (let failing = 0; ; failing++) {
      const target = createMemoryStore();
      const to = failingFrom(target, failing, done);
      const outcome = await copyIndex({ from, to: { indexLocation: to.store }, ...options }).then(
        () => "whole",
        () => "interrupted",
      );
      const client = createClient({ indexLocation: target });
      const names = await client.listIndexes();
      if (names.length > 0) expect(await contentsOf(await client.loadIndex(options))).toEqual(expected);
      if (outcome === "whole") break;
      interrupted++;
      const resumed = failingFrom(target, Infinity, false);
      const written = (await target.list("index/")).length;
      let copied = 0;
      const counting: BlobStore = {
        ...resumed.store,
        create: (key, bytes) => {
          copied++;
          return resumed.store.create(key, bytes);
        },
      };
      await copyIndex({ from, to: { indexLocation: counting }, ...options });
      // Of the stored objects, only the mark, the manifest and the record are tried again.
      expect(copied).toBeLessThanOrEqual((await target.list("index/")).length - written + 3);
      expect(await contentsOf(await client.loadIndex(options))).toEqual(expected);
    }
  }
  expect(interrupted).toBeGreaterThan(20);
});

test("an aborted copy ends with the signal's reason and can be resumed", async () => {
  const source = createMemoryStore();
  const expected = await contentsOf(await makeIndex(source));
  const target = createMemoryStore();
  const [from, to] = [{ indexLocation: source }, { indexLocation: target }];
  const controller = new AbortController();
  const reason = new Error("enough");
  const onProgress = ({ objectsDone }: CopyProgress) => {
    if (objectsDone === 1) controller.abort(reason);
  };
  await expect(copyIndex({ from, to, ...options, onProgress, signal: controller.signal })).rejects.toBe(
    reason,
  );
  expect(await createClient(to).listIndexes()).toEqual([]);
  await copyIndex({ from, to, ...options });
  expect(await contentsOf(await createClient(to).loadIndex(options))).toEqual(expected);
});

test("damage anywhere in the source or on the way is found, and makes no index", async () => {
  const source = createMemoryStore();
  await makeIndex(source);
  const clean = createMemoryStore();
  await copyIndex({ from: { indexLocation: source }, to: { indexLocation: clean }, ...options });
  const objects = (await clean.list("index/")).filter((key) => !key.includes("/manifest/"));
  expect(objects.length).toBeGreaterThan(2);
  for (const damaged of objects) {
    for (const change of [
      (bytes: Uint8Array) => {
        bytes[bytes.length >> 1] ^= 1;
        return bytes;
      },
      (bytes: Uint8Array) => bytes.subarray(0, bytes.length - 1),
      (bytes: Uint8Array) => Buffer.concat([bytes, bytes.subarray(0, 1)]),
      () => null,
    ]) {
      const read: BlobStore["read"] = async (key, range) => {
        const bytes = await source.read(key, whole);
        const found = key === damaged ? bytes && change(bytes) : bytes;
        return found && range ? found.subarray(range.offset, range.offset + range.length) : found;
      };
      const target = createMemoryStore();
      const copying = copyIndex({
        from: { indexLocation: { ...source, read } },
        to: { indexLocation: target },
        ...options,
      });
      await expect(copying).rejects.toMatchObject({
        code: expect.stringMatching(/^(corrupt|missing_object)$/),
      });
      expect(await target.list("names/")).toEqual([]);
    }
  }
  const lying = createMemoryStore();
  const create: BlobStore["create"] = (key, bytes) => {
    const altered = Uint8Array.from(bytes);
    if (key.includes("/segment/")) altered[altered.length - 1] ^= 1;
    return lying.create(key, altered);
  };
  const to = { indexLocation: { ...lying, create } };
  await expect(copyIndex({ from: { indexLocation: source }, to, ...options })).rejects.toMatchObject({
    code: "corrupt",
  });
  expect(await lying.list("names/")).toEqual([]);
});

test("a copy is one consistent state while others write, compact and delete", async () => {
  const store = createMemoryStore();
  const writer = await createClient({ indexLocation: store }).createIndex(options);
  const stamp = (round: number) => items(10).map((item) => ({ ...item, metadata: { round } }));
  await writer.upsert(stamp(0));
  let writing = true;
  const writes = (async () => {
    for (let round = 1; writing; round++) {
      await writer.upsert(stamp(round));
      if (round % 5 === 0) await writer.compact();
      await new Promise(setImmediate);
    }
  })();
  const deleted = new Set<string>();
  for (let copy = 0; copy < 10; copy++) {
    const target = createMemoryStore();
    let reads = 0;
    // Before the first reads, all objects are replaced if possible, and the old ones deleted without any grace.
    const read: BlobStore["read"] = async (key, range) => {
      if (key.includes("/segment/") && reads++ < 2) {
        const before = await store.list("index/");
        await writer.upsert(stamp(1_000_000 + copy));
        await writer.compact();
        await store.delete([key].filter((name) => before.includes(name) && !deleted.has(name)));
        deleted.add(key);
      }
      return store.read(key, range);
    };
    await copyIndex({
      from: { indexLocation: { ...store, read } },
      to: { indexLocation: target },
      ...options,
    });
    const copied = await createClient({ indexLocation: target }).loadIndex(options);
    const found = await copied.get(await copied.listIds(), { include: ["metadata"] });
    expect(found).toHaveLength(10);
    expect(new Set(found.map(({ metadata }) => metadata?.round)).size).toBe(1);
  }
  writing = false;
  await writes;
});

test.each(["copied", "put back by other means"])(
  "a backup that was %s is not hidden by a process that had a later state open",
  async (how) => {
    const [store, backup] = [createMemoryStore(), createMemoryStore()];
    const index = await makeIndex(store);
    await copyIndex({ ...options, from: { indexLocation: store }, to: { indexLocation: backup } });
    const expected = await contentsOf(await createClient({ indexLocation: backup }).loadIndex(options));
    await index.upsert(items(5, 100));
    if (how === "copied") {
      await createClient({ indexLocation: store }).deleteIndex(options);
      await copyIndex({ ...options, from: { indexLocation: backup }, to: { indexLocation: store } });
    } else {
      await store.delete(await store.list(""));
      for (const name of await backup.list(""))
        await store.create(name, (await backup.read(name, whole)) ?? new Uint8Array());
    }
    const refused = { code: "rollback_detected" };
    await expect(index.upsert(items(1, 200))).rejects.toMatchObject(refused);
    await expect(index.delete({ ids: ["1"] })).rejects.toMatchObject({
      code: expect.stringMatching(/rollback_detected|missing_object/),
    });
    const restored = await createClient({ indexLocation: store }).loadIndex(options);
    expect(await contentsOf(restored)).toEqual(expected);
    await restored.upsert(items(1, 300));
    expect(await restored.count()).toBe(expected.items.length + 1);
  },
);
