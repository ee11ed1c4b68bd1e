/** The anchors of one index in a location of their own: the newest one, refusals, and cost. */

import { describe, expect, test } from "vitest";
import { AnchorStore } from "../../src/state/commit/anchored-history.js";
import {
  anchorName,
  anchorPrefix,
  deletedIndexId,
  parseAnchorName,
} from "../../src/state/commit/object-names.js";
import { sealObject } from "../../src/crypto/sealed-object.js";
import {
  digestOf,
  identityOf,
  indexId,
  keysetUpTo,
  keysUpTo,
  otherId,
  recordingStore,
} from "./commit-world.js";
import { whole } from "../ranges.js";

const identity = identityOf(keysUpTo(1), "anchored");

function world() {
  const recording = recordingStore();
  return { ...recording, open: () => new AnchorStore(recording.store, identity) };
}

const nameOf = (version: number, generation = 1, id: Uint8Array = indexId) =>
  anchorName("anchored", { generation, indexId: id, version });
const anchorOf = (version: number) => ({ version, digest: digestOf(version) });
const versionsIn = async (store: ReturnType<typeof recordingStore>["quiet"]) =>
  (await store.list("")).map((name) => parseAnchorName(name).version);

test("an index without anchors has none, and the newest is the one that was kept last, here and elsewhere", async () => {
  const { open } = world();
  const own = open();
  expect(await own.newest()).toBeUndefined();
  for (const version of [1, 2, 3]) {
    await own.advance(anchorOf(version), 1);
    const newest = { indexId, ...anchorOf(version) };
    expect(await own.newest()).toMatchObject(newest);
    expect(await open().newest()).toMatchObject({ ...newest, indexId: Buffer.from(indexId) });
  }
});

test("asking for the newest lists one name, and reads it only if it is newer than the known one", async () => {
  const { open, reads, lists, reset } = world();
  const [own, other] = [open(), open()];
  await own.advance(anchorOf(1), 1);
  reset();
  await own.newest();
  expect([lists, reads]).toEqual([[{ prefix: anchorPrefix("anchored"), options: { limit: 1 } }], []]);
  await other.advance(anchorOf(2), 1);
  reset();
  expect(await own.newest()).toMatchObject(anchorOf(2));
  await own.newest();
  expect([lists.length, reads]).toEqual([2, [nameOf(2)]]);
});

test("anchoring costs one create once the generation is known", async () => {
  const { open, reads, lists, creates, reset } = world();
  const own = open();
  await own.advance(anchorOf(1), 1);
  reset();
  await own.advance(anchorOf(2), 1);
  expect([lists, reads, creates]).toEqual([[], [], [nameOf(2)]]);
});

test("a process that anchors first continues the generation of others", async () => {
  const { open, quiet } = world();
  await open().advance(anchorOf(1), 1);
  await open().advance(anchorOf(2), 1);
  expect(await quiet.list("")).toEqual([nameOf(2), nameOf(1)]);
});

test("a writer that was suspended anchors its version, and the newer one stays the newest", async () => {
  const { open, quiet, reads, reset } = world();
  const own = open();
  await own.advance(anchorOf(5), 1);
  await own.advance(anchorOf(3), 1);
  reset();
  expect(await own.newest()).toMatchObject(anchorOf(5));
  expect(reads).toEqual([]);
  // Not even if the anchor location loses it.
  await quiet.delete([nameOf(5)]);
  expect(await own.newest()).toMatchObject(anchorOf(5));
});

test("a version is anchored again with the same digest, but not with another", async () => {
  const { open } = world();
  await open().advance(anchorOf(1), 1);
  await open().advance(anchorOf(1), 1);
  const forked = open().advance({ version: 1, digest: digestOf(2) }, 1);
  await expect(forked).rejects.toMatchObject({
    code: "rollback_detected",
    message: 'index "anchored": version 1 of another history is anchored',
  });
});

test("a version whose anchor was deleted while it was written again is anchored as far as it matters", async () => {
  const { store } = world();
  const gone = { ...store, create: async () => false, read: async () => null };
  const own = new AnchorStore(gone, identity);
  await own.advance(anchorOf(1), 1);
  await expect(own.newest()).resolves.toBeUndefined();
});

test("an anchor that is deleted between its listing and its reading has a newer one", async () => {
  const { open, quiet, before, reads } = world();
  await open().advance(anchorOf(1), 1);
  await open().advance(anchorOf(2), 1);
  const third = new AnchorStore(quiet, identity);
  before.read = async (key) => {
    if (key !== nameOf(2)) return;
    await third.advance(anchorOf(3), 1);
    await quiet.delete([nameOf(2)]);
  };
  reads.length = 0;
  expect(await open().newest()).toMatchObject(anchorOf(3));
  expect(reads).toEqual([nameOf(2), nameOf(3)]);
});

test("anchors that are listed and never there are an outage after three attempts", async () => {
  const { store, quiet } = world();
  await quiet.create(nameOf(1), new Uint8Array(1));
  let attempts = 0;
  const forgetful = { ...store, read: async () => (attempts++, null) };
  await expect(new AnchorStore(forgetful, identity).newest()).rejects.toMatchObject({
    code: "storage_unavailable",
    message: 'index "anchored": its anchors change too fast',
  });
  expect(attempts).toBe(3);
});

test.each([0, 20, 90])("an anchor with a wrong byte at %i is corrupt", async (at) => {
  const { open, quiet } = world();
  await open().advance(anchorOf(1), 1);
  const bytes = (await quiet.read(nameOf(1), whole)) ?? new Uint8Array();
  bytes[at] ^= 1;
  await quiet.delete([nameOf(1)]);
  await quiet.create(nameOf(1), bytes);
  await expect(open().newest()).rejects.toMatchObject({ code: "corrupt" });
});

describe("an anchor of keys that were replaced", () => {
  // The second generation counts from version 5 on.
  const renewed = () => identityOf(keysUpTo(2, 5), "anchored");

  test("is accepted of a version before that, and of none after it", async () => {
    const { open, store } = world();
    await open().advance(anchorOf(4), 1);
    expect(await new AnchorStore(store, renewed()).newest()).toMatchObject(anchorOf(4));
    await open().advance(anchorOf(5), 1);
    await expect(new AnchorStore(store, renewed()).newest()).rejects.toMatchObject({
      code: "corrupt",
      message: 'index "anchored": its anchor was not made by a writer of it',
    });
  });

  test("is followed by one of the new keys, which another process learns from it", async () => {
    const { store } = world();
    await new AnchorStore(store, renewed()).advance(anchorOf(5), 2);
    const own = keysUpTo(1);
    const renewKeys = async () => own.update(keysetUpTo(2, 5));
    const other = new AnchorStore(store, { ...identityOf(own, "anchored"), renewKeys });
    expect(await other.newest()).toMatchObject(anchorOf(5));
  });

  test("that a reader made is refused", async () => {
    const { store, quiet } = world();
    const { anchor, digest } = { anchor: nameOf(1), digest: Buffer.from(digestOf(1), "hex") };
    const plaintext = Buffer.concat([Buffer.alloc(64), digest]);
    const context = { kind: "anchor", indexId, name: anchor } as const;
    await quiet.create(anchor, sealObject(keysUpTo(1).data, context, plaintext));
    await expect(new AnchorStore(store, identity).newest()).rejects.toMatchObject({ code: "corrupt" });
  });
});

describe("old anchors", () => {
  test("are deleted every 64 versions, oldest first, and 64 of them stay", async () => {
    const { open, quiet, deletes } = world();
    const own = open();
    for (let version = 1; version <= 127; version++) await own.advance(anchorOf(version), 1);
    expect(deletes).toEqual([]);
    await own.advance(anchorOf(128), 1);
    expect(deletes).toEqual(Array.from({ length: 63 }, (_, i) => nameOf(i + 1)));
    expect(await versionsIn(quiet)).toEqual(Array.from({ length: 65 }, (_, i) => 128 - i));
  });

  test("of another index, or of none, stay", async () => {
    const { open, quiet } = world();
    const foreign = [nameOf(1, 2, deletedIndexId), nameOf(1, 1, otherId)];
    for (const name of foreign) await quiet.create(name, new Uint8Array(1));
    const one = open();
    await one.advance(anchorOf(2), 1);
    await one.advance(anchorOf(128), 1);
    expect(await quiet.list("")).toEqual([nameOf(128, 3), ...foreign]);
  });
});

describe("a deleted index", () => {
  test("is marked in a generation of its own, without content", async () => {
    const { open, quiet } = world();
    await open().end();
    await open().end();
    expect(await quiet.list("")).toEqual([nameOf(1, 2, deletedIndexId), nameOf(1, 1, deletedIndexId)]);
    expect(await quiet.read(nameOf(1, 1, deletedIndexId), whole)).toHaveLength(0);
  });

  test("does not come back, neither to those that had it open", async () => {
    const { open } = world();
    const own = open();
    await own.advance(anchorOf(1), 1);
    await open().end();
    for (const one of [own, open()]) {
      await expect(one.newest()).rejects.toMatchObject({
        code: "rollback_detected",
        message: 'index "anchored": it was deleted',
      });
    }
    await expect(open().advance(anchorOf(2), 1)).rejects.toMatchObject({ code: "rollback_detected" });
  });

  test("is not confused with the one that was created after it", async () => {
    const { store, open, lists, reset } = world();
    const before = new AnchorStore(store, { ...identity, indexId: otherId });
    await before.advance(anchorOf(9), 1);
    await before.end();
    const own = open();
    expect(await own.newest()).toBeUndefined();
    reset();
    await own.advance(anchorOf(1), 1);
    expect(lists.map(({ options }) => options?.limit)).toEqual([1, undefined, 1]);
    expect(await own.newest()).toMatchObject(anchorOf(1));
    await expect(before.newest()).rejects.toMatchObject({ message: 'index "anchored": it was deleted' });
    // Even if the mark was lost.
    await store.delete([nameOf(1, 2, deletedIndexId)]);
    await expect(before.newest()).rejects.toMatchObject({ message: 'index "anchored": it was deleted' });
  });

  test("of another key is another index", async () => {
    const { store, open } = world();
    await new AnchorStore(store, { ...identity, indexId: otherId }).advance(anchorOf(1), 1);
    await expect(open().newest()).rejects.toMatchObject({
      code: "rollback_detected",
      message: 'index "anchored": another index of this name is anchored',
    });
  });
});
