/** The secrets of namespaces: which may be used after which manifest, what finding them costs, and that destroyed ones are gone. */

import { describe, expect, test } from "vitest";
import { emptyManifest, type Manifest } from "../../src/commit/manifest.js";
import { canBeWritten, type Namespace, Namespaces } from "../../src/commit/namespaces.js";
import { namespaceName, namespacesPrefix } from "../../src/commit/object-names.js";
import { fingerprint, secretKey } from "../../src/crypto/keys.js";
import { openObject, sealObject } from "../../src/crypto/sealed-object.js";
import { identityOf, indexId, keysUpTo, recordingStore, segmentRef, wavesOf } from "./commit-world.js";
import { whole } from "../ranges.js";

const keys = keysUpTo(1);

function world() {
  const recording = recordingStore();
  const open = () => new Namespaces(recording.store, identityOf(keysUpTo(1)));
  const costs = () => ({
    reads: recording.reads.length,
    creates: recording.creates.length,
    lists: recording.lists.length,
    deletes: recording.deletes.length,
  });
  return { ...recording, open, own: open(), costs };
}

const nothing = { reads: 0, creates: 0, lists: 0, deletes: 0 };

/** A manifest with segments of these namespaces, after so many erasures. */
function manifest(named: readonly Pick<Namespace, "id">[] = [], erasures?: number): Manifest {
  const segments = [
    segmentRef("none"),
    ...named.map(({ id }, i) => segmentRef(`${i}`, { sequence: i + 2, namespace: id })),
  ];
  return { ...emptyManifest(0), segments, ...(erasures !== undefined && { erasures }) };
}

const nameOf = (name: string, erasures: number) =>
  namespaceName(indexId, fingerprint(keys.namespaceName, name), erasures);

const goneFor = (id: string) => ({ code: "missing_object", message: `namespace ${id}: its secret is gone` });

describe("a namespace for writing", () => {
  test("is drawn once, under a name that does not show its own, and is the same in every process", async () => {
    const { own, open, quiet, costs, reset } = world();
    const drawn = await own.forWriting("ann", manifest());
    expect(drawn).toMatchObject({ name: "ann", erasures: 0, objectName: nameOf("ann", 0) });
    expect(drawn.id).toMatch(/^[0-9a-f]{32}$/);
    expect(await quiet.list("")).toEqual([nameOf("ann", 0)]);
    reset();
    expect(await own.forWriting("ann", manifest())).toBe(drawn);
    expect(costs()).toEqual(nothing);
    const other = await open().forWriting("ann", manifest());
    expect(costs()).toEqual({ ...nothing, lists: 1, reads: 1 });
    expect(other).toMatchObject({ id: drawn.id, name: "ann", erasures: 0 });
    const context = { kind: "segment", indexId, name: "segment" } as const;
    const sealed = sealObject(drawn.keys, context, Buffer.from("of ann"));
    expect(Buffer.from(openObject(other.keys, context, sealed)).toString()).toBe("of ann");
    const bob = await own.forWriting("bob", manifest());
    expect(bob.id).not.toBe(drawn.id);
    expect(() => openObject(bob.keys, context, sealed)).toThrowError(
      expect.objectContaining({ code: "corrupt" }),
    );
  });

  test("has an id and a secret that differ from those of every other", async () => {
    const one = await world().own.forWriting("ann", manifest());
    const two = await world().own.forWriting("ann", manifest());
    expect(one.id).not.toBe(two.id);
    const context = { kind: "segment", indexId, name: "segment" } as const;
    const sealed = sealObject(one.keys, context, Buffer.from("of one"));
    expect(() => openObject(two.keys, context, sealed)).toThrow();
  });

  test("is stored as FORMAT.md says: id, secret, name", async () => {
    const { own, quiet } = world();
    const { id, objectName, keys: drawn } = await own.forWriting("Käse", manifest());
    const stored = { kind: "namespace", indexId, name: objectName } as const;
    const bytes = (await quiet.read(objectName, whole)) ?? Buffer.of();
    const plaintext = Buffer.from(openObject(keys.namespace, stored, bytes));
    expect(plaintext.subarray(0, 16).toString("hex")).toBe(id);
    expect(plaintext.subarray(48).toString("utf8")).toBe("Käse");
    const context = { kind: "segment", indexId, name: "segment" } as const;
    const derived = keys.dataOf(secretKey(plaintext.subarray(16, 48)));
    const sealed = sealObject(derived, context, Buffer.from("of Käse"));
    expect(Buffer.from(openObject(drawn, context, sealed)).toString()).toBe("of Käse");
  });

  test("serves on after others were erased while it is named, and not otherwise", async () => {
    const { own, open, quiet } = world();
    const drawn = await own.forWriting("ann", manifest());
    expect(canBeWritten(manifest([], 0), drawn)).toBe(true);
    expect(canBeWritten(manifest([drawn], 1), drawn)).toBe(true);
    expect(canBeWritten(manifest([], 1), drawn)).toBe(false);
    for (const one of [own, open()]) {
      expect((await one.forWriting("ann", manifest([drawn], 1))).id).toBe(drawn.id);
    }
    for (const one of [open(), own]) {
      const next = await one.forWriting("ann", manifest([], 1));
      expect(next).toMatchObject({ erasures: 1, objectName: nameOf("ann", 1) });
      expect(next.id).not.toBe(drawn.id);
    }
    // What an interrupted erasure left went with it.
    expect(await quiet.list("")).toEqual([nameOf("ann", 1)]);
  });

  test("leaves secrets alone that a later manifest may yet let write", async () => {
    const { own, open, quiet } = world();
    // This process has not seen two erasures that another one knows of.
    await open().forWriting("ann", manifest([], 2));
    await own.forWriting("ann", manifest());
    expect(await quiet.list("")).toEqual([nameOf("ann", 2), nameOf("ann", 0)]);
  });

  test("that two processes draw at the same time is that of the first", async () => {
    const { own, open, before } = world();
    const other = open();
    let first: Namespace | undefined;
    before.create = async () => {
      before.create = async () => {};
      first = await other.forWriting("ann", manifest());
    };
    expect((await own.forWriting("ann", manifest())).id).toBe(first?.id);
  });

  test("that another process drew and destroyed again is drawn again", async () => {
    const { own, open, before, quiet } = world();
    const other = open();
    let first: Namespace | undefined;
    before.create = async () => {
      before.create = async () => {};
      first = await other.forWriting("ann", manifest());
    };
    before.read = async (key) => {
      if (first === undefined) return;
      before.read = async () => {};
      await quiet.delete([key]);
    };
    const drawn = await own.forWriting("ann", manifest());
    expect(drawn.id).not.toBe(first?.id);
    expect(await open().byId(drawn.id)).toMatchObject({ name: "ann" });
  });
});

describe("finding a namespace", () => {
  test("by its name asks storage once, and finds what the manifest names alone", async () => {
    const { own, open, costs, reset } = world();
    const ann = await own.forWriting("ann", manifest());
    const bob = await own.forWriting("bob", manifest());
    const both = manifest([ann, bob]);
    const other = open();
    reset();
    expect(other.known("ann", both)).toBeUndefined();
    expect(await other.find("ann", both)).toMatchObject({ id: ann.id });
    expect(other.known("ann", both)).toMatchObject({ id: ann.id });
    expect(await other.find("ann", both)).toMatchObject({ id: ann.id });
    expect(costs()).toEqual({ ...nothing, lists: 1, reads: 1 });
    expect(await other.find("bob", both)).toMatchObject({ id: bob.id });
    expect(await other.find("carl", both)).toBeUndefined();
    for (const one of [own, other]) {
      expect(one.known("ann", manifest([bob]))).toBeUndefined();
      expect(await one.find("ann", manifest([bob]))).toBeUndefined();
    }
  });

  test("by its id reads all that are not known, 64 at a time, once for all calls", async () => {
    const { own, open, before, lists, reads, reset } = world();
    const drawn: Namespace[] = [];
    for (let i = 0; i < 150; i++) drawn.push(await own.forWriting(`n${i}`, manifest()));
    const other = open();
    await other.stored("n0");
    reset();
    const waves = wavesOf(before);
    const found = await Promise.all([drawn[149], drawn[3], drawn[0]].map(({ id }) => other.byId(id)));
    expect(found.map(({ name }) => name)).toEqual(["n149", "n3", "n0"]);
    expect([lists.length, reads.length, new Set(reads).size]).toEqual([1, 149, 149]);
    expect(waves.toSorted((a, b) => b - a)).toEqual([64, 63, 22]);
    expect(await other.byId(drawn[77].id)).toMatchObject({ name: "n77" });
    expect(reads).toHaveLength(149);
  });

  test("fails if its secret was destroyed, and storage is asked again the next time", async () => {
    const { own, open, lists } = world();
    const drawn = await own.forWriting("ann", manifest());
    const other = open();
    await own.destroy([drawn.objectName]);
    await expect(other.byId(drawn.id)).rejects.toMatchObject(goneFor(drawn.id));
    const again = await own.forWriting("ann", manifest());
    lists.length = 0;
    expect(await other.byId(again.id)).toMatchObject({ name: "ann" });
    expect(lists).toHaveLength(1);
  });

  test("is possible after storage failed", async () => {
    const { own, open, before } = world();
    const drawn = await own.forWriting("ann", manifest());
    const other = open();
    before.read = async () => {
      throw new Error("no connection");
    };
    await expect(other.byId(drawn.id)).rejects.toThrow("no connection");
    before.read = async () => {};
    expect(await other.byId(drawn.id)).toMatchObject({ name: "ann" });
  });

  test("passes over secrets that are destroyed between their listing and their reading", async () => {
    const { own, open, before, quiet } = world();
    const ann = await own.forWriting("ann", manifest());
    const bob = await own.forWriting("bob", manifest());
    before.read = async (key) => {
      if (key === ann.objectName) await quiet.delete([key]);
    };
    const other = open();
    expect(await other.byId(bob.id)).toMatchObject({ name: "bob" });
    await expect(other.byId(ann.id)).rejects.toMatchObject(goneFor(ann.id));
    const carl = await own.forWriting("carl", manifest());
    before.read = (key) => quiet.delete([key]);
    expect(await open().stored("carl")).toEqual([]);
    expect(await quiet.list("")).not.toContain(carl.objectName);
  });

  test("passes over what others put among the secrets", async () => {
    const { own, open, quiet } = world();
    const ann = await own.forWriting("ann", manifest());
    const prefix = namespacesPrefix(indexId);
    const handle = ann.objectName.slice(prefix.length, -17);
    const foreign = [
      "readme",
      `${handle}/readme`,
      `${handle}/00`,
      `${handle}0/${"0".repeat(16)}`,
      `a/${handle}/${"0".repeat(16)}`,
      `${handle}/${"0".repeat(16)}1`,
      `${"z".repeat(32)}/${"0".repeat(16)}`,
    ];
    for (const key of foreign) await quiet.create(prefix + key, Buffer.from("not ours"));
    expect(await own.objectNames()).toEqual([ann.objectName]);
    const other = open();
    expect(await other.stored("ann")).toMatchObject([{ id: ann.id }]);
    expect(await open().byId(ann.id)).toMatchObject({ name: "ann" });
  });

  test("is refused if its secret was moved to another name", async () => {
    const { own, open, quiet } = world();
    const ann = await own.forWriting("ann", manifest());
    const bytes = (await quiet.read(ann.objectName, whole)) ?? Buffer.of();
    await quiet.create(nameOf("bob", 0), bytes);
    await expect(open().stored("bob")).rejects.toMatchObject({ code: "corrupt" });
  });
});

describe("destroying", () => {
  test("nothing asks nothing of storage", async () => {
    const { own, costs } = world();
    await own.destroy([]);
    expect(costs()).toEqual(nothing);
  });

  test("forgets the secret here as well, and others keep theirs", async () => {
    const { own, quiet } = world();
    const ann = await own.forWriting("ann", manifest());
    const bob = await own.forWriting("bob", manifest());
    await own.destroy([ann.objectName]);
    expect(await quiet.list("")).toEqual([bob.objectName]);
    expect(own.known("ann", manifest([ann]))).toBeUndefined();
    await expect(own.byId(ann.id)).rejects.toMatchObject(goneFor(ann.id));
    expect(await own.byId(bob.id)).toBe(bob);
  });

  test("is an error while storage still has one of the secrets", async () => {
    const { store, quiet } = world();
    const keeping = new Namespaces(
      { ...store, delete: (names) => quiet.delete(names.slice(1)) },
      identityOf(keysUpTo(1)),
    );
    const ann = await keeping.forWriting("ann", manifest());
    const bob = await keeping.forWriting("bob", manifest());
    await expect(keeping.destroy([ann.objectName, bob.objectName])).rejects.toMatchObject({
      code: "storage_unavailable",
      message: "namespace: the storage still has its secret after deleting it",
    });
  });
});

describe("secrets that no manifest lets write any more", () => {
  test("are destroyed, those that are named or may yet be used are kept", async () => {
    const { own, open, quiet } = world();
    const drawn: Record<string, Namespace> = {};
    for (const name of ["left", "named"]) drawn[name] = await own.forWriting(name, manifest());
    drawn.new = await own.forWriting("new", manifest([], 1));
    drawn.ahead = await own.forWriting("ahead", manifest([], 2));
    expect(await own.destroyDead(manifest([drawn.named]))).toBe(0);
    expect(await quiet.list("")).toHaveLength(4);
    expect(await open().destroyDead(manifest([drawn.named], 1))).toBe(1);
    const kept = [drawn.named, drawn.new, drawn.ahead].map(({ objectName }) => objectName);
    expect(await quiet.list("")).toEqual(kept.toSorted());
    expect(await open().destroyDead(manifest([drawn.named], 1))).toBe(0);
  });

  test("are looked for among those that are older than the last erasure, 64 at a time", async () => {
    const { own, open, before, reads, reset, costs } = world();
    for (let i = 0; i < 130; i++) await own.forWriting(`n${i}`, manifest());
    for (let i = 0; i < 5; i++) await own.forWriting(`new ${i}`, manifest([], 1));
    reset();
    expect(await open().destroyDead(manifest())).toBe(0);
    expect(costs()).toEqual({ ...nothing, lists: 1 });
    let asked = 0;
    const waves: number[] = [];
    before.read = async () => {
      asked++;
      await new Promise(setImmediate);
      if (asked > 0) waves.push(asked);
      asked = 0;
    };
    expect(await open().destroyDead(manifest([], 1))).toBe(130);
    // Then each is looked for once more, to be sure.
    expect(waves).toEqual([64, 64, 2, 130]);
    expect(reads).toHaveLength(260);
    reset();
    // One that knows them reads them once, to be sure.
    expect(await own.destroyDead(manifest([], 2))).toBe(5);
    expect(costs()).toEqual({ reads: 5, creates: 0, lists: 1, deletes: 5 });
  });

  test("may be destroyed by another process meanwhile", async () => {
    const { own, open, before, quiet } = world();
    await own.forWriting("ann", manifest());
    before.read = (key) => quiet.delete([key]);
    expect(await open().destroyDead(manifest([], 1))).toBe(0);
    expect(await quiet.list("")).toEqual([]);
  });

  test("are forgotten, and no others", async () => {
    const { own, reads, reset } = world();
    const dead = await own.forWriting("dead", manifest());
    const named = await own.forWriting("named", manifest());
    const fresh = await own.forWriting("fresh", manifest([], 1));
    reset();
    own.forget(manifest([named]));
    // No erasure yet: what is drawn and not named may still be committed; what was drawn after one that is not seen here may not.
    expect(await own.byId(dead.id)).toBe(dead);
    expect(await own.byId(named.id)).toBe(named);
    expect(reads).toEqual([]);
    expect(await own.byId(fresh.id)).not.toBe(fresh);
    expect(reads).toEqual([fresh.objectName]);
    reset();
    own.forget(manifest([named], 1));
    expect(await own.byId(named.id)).toBe(named);
    expect(await own.byId(fresh.id)).toMatchObject({ name: "fresh" });
    expect(reads).toEqual([]);
    expect(await own.byId(dead.id)).not.toBe(dead);
    expect(reads).toEqual([dead.objectName]);
  });
});
