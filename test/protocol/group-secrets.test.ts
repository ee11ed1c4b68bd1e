/** The secrets of groups of items: stored before they count, opened for their index alone, and gone once they are destroyed. */

import { describe, expect, test } from "vitest";
import { GroupSecrets, groupSecretNames } from "../../src/state/commit/group-secrets.js";
import { emptyManifest, erasuresOf } from "../../src/state/commit/manifest.js";
import { groupName } from "../../src/state/commit/object-names.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { identityOf, indexId, keysUpTo } from "./commit-world.js";

const text = Buffer.from("state of a thread");

function open(store: BlobStore): GroupSecrets {
  return new GroupSecrets(store, identityOf(keysUpTo(1)));
}

async function drawn(store: BlobStore) {
  const secret = open(store).draw();
  await secret.stored;
  return secret;
}

describe("a secret of a group", () => {
  test("opens in every process the contents that it seals, of the item alone that they were sealed for", async () => {
    const store = createMemoryStore();
    const secret = await drawn(store);
    expect(await store.list("")).toEqual([groupName(indexId, secret.id)]);
    const sealed = secret.seal("item", text);
    const other = await open(store).read(secret.id);
    expect(Buffer.from(other?.open("item", sealed) ?? [])).toEqual(text);
    expect(() => other?.open("another item", sealed)).toThrow(expect.objectContaining({ code: "corrupt" }));
    const next = await drawn(store);
    expect(next.id).not.toBe(secret.id);
    expect(() => next.open("item", sealed)).toThrow(expect.objectContaining({ code: "corrupt" }));
  });

  test("is gone for everybody once it is destroyed, and destroying it again changes nothing", async () => {
    const store = createMemoryStore();
    const [secret, kept] = [await drawn(store), await drawn(store)];
    await open(store).destroy([secret.id]);
    await open(store).destroy([secret.id]);
    expect(await open(store).read(secret.id)).toBeUndefined();
    expect((await open(store).read(kept.id))?.id).toBe(kept.id);
  });

  test("that could not be stored, or whose name is taken, does not count as stored", async () => {
    const store = createMemoryStore();
    const failing = { ...store, create: () => Promise.reject(new Error("no storage")) };
    await expect(open(failing).draw().stored).rejects.toThrow("no storage");
    const taken = { ...store, create: async () => false, read: async () => Buffer.from("of another") };
    await expect(open(taken).draw().stored).rejects.toMatchObject({ code: "internal" });
  });

  test.each(["", "../record", "A".repeat(32), "0".repeat(31), 7])(
    "is not looked for under an id that none can have: %s",
    async (id) => {
      const secrets = open(createMemoryStore());
      await expect(secrets.read(id as string)).rejects.toMatchObject({ code: "corrupt" });
      await expect(secrets.destroy([id as string])).rejects.toMatchObject({ code: "corrupt" });
    },
  );

  test("is listed with the others of its index, and nothing else is", async () => {
    const store = createMemoryStore();
    const names = [await drawn(store), await drawn(store)].map(({ id }) => groupName(indexId, id));
    await store.create(`${groupName(indexId, "0".repeat(32))}/old`, text);
    expect((await groupSecretNames(store, indexId)).toSorted()).toEqual(names.toSorted());
  });
});

test("a manifest without erasures has had none", () => {
  expect(erasuresOf(emptyManifest(0))).toBe(0);
  expect(erasuresOf({ ...emptyManifest(0), erasures: 3 })).toBe(3);
});
