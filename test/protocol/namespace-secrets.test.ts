/** The secrets of namespaces: which may be used after which manifest, the cost of finding them, and that destroyed ones are gone. */

import { describe, expect, test } from "vitest";
import { emptyManifest, type Manifest } from "../../src/state/commit/manifest.js";
import { canBeWritten, type Namespace, NamespaceSecrets } from "../../src/state/commit/namespaces.js";
import { namespaceName, namespacesPrefix } from "../../src/state/commit/object-names.js";
import { fingerprint, namespaceCheck, secretKey } from "../../src/crypto/keys.js";
import { openObject, sealObject } from "../../src/crypto/sealed-object.js";
import { identityOf, indexId, keysUpTo, recordingStore, segmentRef, wavesOf } from "./commit-world.js";
import { whole } from "../ranges.js";

const keys = keysUpTo(1);

function world() {
  const recording = recordingStore();
  const open = () => new NamespaceSecrets(recording.store, identityOf(keysUpTo(1)));
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

const goneFor = ({ objectName }: Namespace) => ({
  code: "missing_object",
  message: `stored object ${objectName}: the secret of a namespace is gone`,
});

describe("a namespace for writing", () => {
  test("is drawn once, under a name that does not show its own, and is the same in every process", async () => {
    const { own, open, quiet, costs, reset } = world();
    const drawn = await own.forWriting("ann", manifest());
    expect(drawn).toMatchObject({ name: "ann", erasures: 0, objectName: nameOf("ann", 0) });
    expect(drawn.id).toMatch(/^[0-9a-f]{32}-0-[0-9a-f]{32}$/);
    expect(await quiet.list("")).toEqual([nameOf("ann", 0)]);
    reset();
    expect(await own.forWriting("ann", manifest())).toBe(drawn);
    expect(costs()).toEqual(nothing);
    const other = await open().forWriting("ann", manifest());
    expect(costs()).toEqual({ ...nothing, reads: 1 });
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

  test("is stored as docs/internals/format.md says: secret, name", async () => {
    const { own, quiet } = world();
    const { id, objectName, keys: drawn } = await own.forWriting("Käse", manifest());
    const stored = { kind: "namespace", indexId, name: objectName } as const;
    const bytes = (await quiet.read(objectName, whole)) ?? Buffer.of();
    const plaintext = Buffer.from(openObject(keys.namespace, stored, bytes));
    expect(plaintext.subarray(32).toString("utf8")).toBe("Käse");
    const secret = secretKey(Buffer.from(plaintext.subarray(0, 32)));
    const handle = Buffer.from(fingerprint(keys.namespaceName, "Käse")).toString("hex");
    expect(id).toBe(`${handle}-0-${Buffer.from(namespaceCheck(secret, indexId)).toString("hex")}`);
    const context = { kind: "segment", indexId, name: "segment" } as const;
    const sealed = sealObject(keys.dataOf(secret), context, Buffer.from("of Käse"));
    expect(Buffer.from(openObject(drawn, context, sealed)).toString()).toBe("of Käse");
  });

  test("is not another one of its name", async () => {
    const { own } = world();
    const drawn = await own.forWriting("ann", manifest());
    const other = await world().own.forWriting("ann", manifest());
    expect(canBeWritten(manifest([other]), drawn)).toBe(false);
    expect(canBeWritten(manifest([other, drawn]), other)).toBe(true);
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
    expect(await quiet.list("")).toEqual([nameOf("ann", 1), nameOf("ann", 0)]);
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
  test("by its name sends no request, and finds only namespaces of the manifest", async () => {
    const { own, open, costs, reset } = world();
    const ann = await own.forWriting("ann", manifest());
    const bob = await own.forWriting("bob", manifest());
    reset();
    for (const one of [own, open()]) {
      expect(one.idOf("ann", manifest([ann, bob]))).toBe(ann.id);
      expect(one.idOf("carl", manifest([ann, bob]))).toBeUndefined();
      expect(one.idOf("ann", manifest([bob]))).toBeUndefined();
    }
    expect(costs()).toEqual(nothing);
  });

  test("by its id reads its secret, once for all calls", async () => {
    const { own, open, reads } = world();
    const ann = await own.forWriting("ann", manifest());
    const other = open();
    reads.length = 0;
    const found = await Promise.all([ann.id, ann.id].map((id) => other.byId(id)));
    expect(found).toMatchObject([{ name: "ann" }, { name: "ann" }]);
    expect(await other.byId(ann.id)).toBe(found[0]);
    expect(reads).toEqual([ann.objectName]);
  });

  test("of all reads 64 secrets at a time, and none that is known", async () => {
    const { own, open, before, lists, reads, reset } = world();
    const drawn: Namespace[] = [];
    for (let i = 0; i < 150; i++) drawn.push(await own.forWriting(`n${i}`, manifest()));
    const other = open();
    await other.byId(drawn[0].id);
    reset();
    const waves = wavesOf(before);
    const found = await other.all(manifest([...drawn, drawn[3]]));
    expect(found.map(({ name }) => name)).toEqual(drawn.map(({ name }) => name));
    expect([lists.length, reads.length, new Set(reads).size]).toEqual([0, 149, 149]);
    expect(waves.toSorted((a, b) => b - a)).toEqual([64, 63, 22]);
  });

  test("fails if its secret was destroyed, and storage is asked again the next time", async () => {
    const { own, open, quiet } = world();
    const drawn = await own.forWriting("ann", manifest());
    const bytes = (await quiet.read(drawn.objectName, whole)) ?? Buffer.of();
    const other = open();
    await own.destroy([drawn.objectName]);
    await expect(other.byId(drawn.id)).rejects.toMatchObject(goneFor(drawn));
    await expect(other.forWriting("ann", manifest([drawn]))).rejects.toMatchObject(goneFor(drawn));
    await quiet.create(drawn.objectName, bytes);
    expect(await other.byId(drawn.id)).toMatchObject({ name: "ann" });
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

  test("skips foreign objects among the secrets", async () => {
    const { own, quiet } = world();
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
    expect(await own.deadObjectNames(manifest([], 1), "ann")).toEqual([ann.objectName]);
  });

  test("is refused if its secret, or the name in it, is not the one that the manifest names", async () => {
    const { own, open, quiet } = world();
    const ann = await own.forWriting("ann", manifest());
    const bytes = (await quiet.read(ann.objectName, whole)) ?? Buffer.of();
    // Moved to another name.
    await quiet.create(nameOf("bob", 0), bytes);
    await expect(open().forWriting("bob", manifest())).rejects.toMatchObject({ code: "corrupt" });
    // Sealed for the place by a holder of the index secret.
    const context = { kind: "namespace", indexId, name: ann.objectName } as const;
    const plaintext = openObject(keys.namespace, context, bytes);
    for (const [secret, name, isSecretRight] of [
      [Buffer.alloc(32, 1), "ann", false],
      [plaintext.subarray(0, 32), "bob", true],
    ] as const) {
      await quiet.delete([ann.objectName]);
      const other = sealObject(keys.namespace, context, Buffer.concat([secret, Buffer.from(name)]));
      await quiet.create(ann.objectName, other);
      await expect(open().byId(ann.id)).rejects.toMatchObject({
        code: "corrupt",
        message: `stored object ${ann.objectName}: it is not the secret that its namespace has`,
      });
      // Before a manifest names it, it may be any secret, but of its own name.
      if (isSecretRight) await expect(open().forWriting("ann", manifest())).rejects.toThrow("secret");
      else expect((await open().forWriting("ann", manifest())).id).not.toBe(ann.id);
    }
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
    await expect(own.byId(ann.id)).rejects.toMatchObject(goneFor(ann));
    expect(await own.byId(bob.id)).toBe(bob);
  });

  test("is an error while storage still has one of the secrets", async () => {
    const { store, quiet } = world();
    const keeping = new NamespaceSecrets(
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
  test("are told by their names: those that are named or may yet be used are not among them", async () => {
    const { own, open, costs, reset } = world();
    const drawn: Record<string, Namespace> = {};
    for (const name of ["left", "named"]) drawn[name] = await own.forWriting(name, manifest());
    drawn.new = await own.forWriting("new", manifest([], 1));
    drawn.ahead = await own.forWriting("ahead", manifest([], 2));
    reset();
    expect(await own.deadObjectNames(manifest([drawn.named]))).toEqual([]);
    expect(await open().deadObjectNames(manifest([drawn.named], 1))).toEqual([drawn.left.objectName]);
    expect(await own.deadObjectNames(manifest([drawn.named], 1), "left")).toEqual([drawn.left.objectName]);
    expect(await own.deadObjectNames(manifest([drawn.named], 1), "new")).toEqual([]);
    expect(costs()).toEqual({ ...nothing, lists: 4 });
  });

  test("are forgotten, and no others", async () => {
    const { own, reads, reset } = world();
    const dead = await own.forWriting("dead", manifest());
    const named = await own.forWriting("named", manifest());
    const fresh = await own.forWriting("fresh", manifest([], 1));
    reset();
    own.forget(manifest([named]));
    // No erasure yet: an unnamed secret may still be committed, but not one drawn after an erasure that is not seen here.
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
