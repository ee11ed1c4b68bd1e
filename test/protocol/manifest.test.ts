/** The content of manifests, and how changes of them are combined. */

import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { elapsedMs, instant, systemClock } from "../../src/state/commit/clock.js";
import { createConfirmed } from "../../src/state/commit/create-confirmed.js";
import { applyChanges, type Change, type Pending } from "../../src/state/commit/manifest-log.js";
import {
  areCommittable,
  byNamespace,
  emptyManifest,
  generationOfRef,
  type Manifest,
  namedObjects,
  namesNamespace,
  nextSequence,
  objectRefs,
  objectsDropped,
  rowsAtMost,
} from "../../src/state/commit/manifest.js";
import { encodeManifest, openManifest, sealManifest } from "../../src/state/commit/stored-manifest.js";
import { newObjectName } from "../../src/state/commit/object-names.js";
import { replaceSegments } from "../../src/state/commit/replace-segments.js";
import { advanceWatermark, isDue } from "../../src/state/commit/retention.js";
import { headerBytes, sealObject } from "../../src/crypto/sealed-object.js";
import {
  chain,
  digestOf,
  indexId,
  keysUpTo,
  otherId,
  recordingStore,
  sealAfter,
  segmentRef,
} from "./commit-world.js";

const empty = emptyManifest(5);

function withSegments(...segments: readonly ReturnType<typeof segmentRef>[]): Manifest {
  return { ...empty, segments };
}

const modelOf = (name: string) => ({ name, header: "", length: 1, items: 10 });

describe("a manifest", () => {
  test("of a new index is empty, of version 1, and now", () => {
    const watermark = { floor: 1, next: 1, since: 5 };
    expect(empty).toEqual({
      version: 1,
      previous: "",
      keyGeneration: 1,
      dropped: false,
      segments: [],
      droppedObjects: [],
      history: watermark,
      uploads: watermark,
    });
  });

  test("names its segments, its model and older ones", () => {
    const model = modelOf("m1");
    const segments = [segmentRef("s1"), segmentRef("s2")];
    expect(objectRefs(empty)).toEqual([]);
    const full = { ...empty, model, segments };
    expect(objectRefs(full)).toEqual([model, ...segments]);
    expect(namedObjects(full)).toEqual(new Set(["m1", "s1", "s2"]));
    expect(objectsDropped(full, empty)).toEqual([]);
    const dropping = { ...empty, droppedObjects: ["m1", "s2", "unknown"] };
    expect(objectsDropped(full, dropping)).toEqual([model, segments[1]]);
  });

  test("counts the rows of no namespace that are not deleted", () => {
    expect(rowsAtMost(empty)).toBe(0);
    const one = withSegments(
      segmentRef("a", { rows: 5, deleted: 2 }),
      segmentRef("b", { rows: 100, namespace: "n" }),
      segmentRef("c", { rows: 7 }),
    );
    expect(rowsAtMost(one)).toBe(10);
  });

  test("knows the namespaces of its segments", () => {
    const [a, b, c, d] = [
      segmentRef("a", { namespace: "x" }),
      segmentRef("b"),
      segmentRef("c", { namespace: "x" }),
      segmentRef("d", { namespace: "y" }),
    ];
    const one = withSegments(a, b, c, d);
    expect(["x", "y", "z"].map((id) => namesNamespace(one, id))).toEqual([true, true, false]);
    expect(byNamespace(one.segments, (segment) => segment)).toEqual([[a, c], [b], [d]]);
  });

  test("gives the next batch a greater sequence", () => {
    expect(nextSequence(empty)).toBe(1);
    expect(
      nextSequence(withSegments(segmentRef("a", { sequence: 3 }), segmentRef("b", { sequence: 8 }))),
    ).toBe(9);
  });

  test("lets objects be committed that were named since its floor, under the keys in force", () => {
    const latest = { ...empty, keyGeneration: 2, uploads: { floor: 5, next: 9, since: 0 } };
    const object = (born: number, generation: number) => {
      const name = newObjectName(indexId, "segment", born);
      const bytes = sealObject(keysUpTo(generation).data, { kind: "segment", indexId, name }, Buffer.of());
      return { name, header: Buffer.from(bytes.subarray(0, headerBytes)).toString("base64") };
    };
    expect(generationOfRef(object(5, 2))).toBe(2);
    expect(areCommittable(latest, [])).toBe(true);
    expect(areCommittable(latest, [object(5, 2), object(6, 3)])).toBe(true);
    for (const other of [object(4, 2), object(5, 1)]) {
      expect(areCommittable(latest, [object(5, 2), other])).toBe(false);
      expect(areCommittable(latest, [other, object(5, 2)])).toBe(false);
    }
  });

  test("is opened as it was sealed, by its index, its version and its bytes alone", () => {
    const keys = keysUpTo(2);
    const { manifest, bytes, digest } = sealAfter(chain(1, keys)[0], keys, { dimension: 3 });
    expect(manifest).toMatchObject({ version: 2, keyGeneration: 2, dimension: 3 });
    expect(openManifest(keys, indexId, 2, bytes)).toEqual({ manifest, bytes, digest });
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(() => openManifest(keys, otherId, 2, bytes)).toThrow("stored object");
    expect(() => openManifest(keys, indexId, 3, bytes)).toThrow("stored object");
  });

  test("of 3,000 namespaces has at most 250 bytes per segment", () => {
    const keys = keysUpTo(1);
    const model = newObjectName(indexId, "model", 0);
    const segments = Array.from({ length: 3000 }, (_, i) => {
      const name = newObjectName(indexId, "segment", 2000 + i);
      const header = sealObject(keys.data, { kind: "segment", indexId, name }, Buffer.alloc(1)).subarray(
        0,
        76,
      );
      const namespace = `${randomBytes(16).toString("hex")}-0-${randomBytes(16).toString("hex")}`;
      return segmentRef(name, {
        header: Buffer.from(header).toString("base64"),
        length: 54_321,
        sequence: 2000 + i,
        rows: 123,
        deleted: 4,
        blocks: 12,
        footerLength: 345,
        ...(i < 2000 && { model }),
        ...(i > 0 && { namespace }),
      });
    });
    const droppedObjects = ["segment", "model"].map((kind) => newObjectName(indexId, kind as "segment", 77));
    const manifest = { ...empty, version: 5000, previous: digestOf(1), segments, droppedObjects };
    const { bytes } = sealManifest(keys, indexId, manifest);
    expect(openManifest(keys, indexId, 5000, bytes).manifest).toEqual(manifest);
    expect(bytes.length / segments.length).toBeLessThan(250);
  });

  test("without a signature, or with one of another than its writer, is corrupt", () => {
    const [keys, older] = [keysUpTo(2), keysUpTo(1)];
    const { manifest } = sealManifest(older, indexId, empty);
    const text = Buffer.from(JSON.stringify(encodeManifest(manifest)));
    const name = `index/${Buffer.from(indexId).toString("hex")}/manifest/${Number.MAX_SAFE_INTEGER - 1}`;
    const context = { kind: "manifest", indexId, name } as const;
    const message = Buffer.concat([indexId, text]);
    const signatures = {
      none: new Uint8Array(64),
      "of newer keys": keys.sign("sealdex/1/manifest", message),
      "for another purpose": older.sign("sealdex/1/receipt", message),
      "of another index": older.sign("sealdex/1/manifest", Buffer.concat([otherId, text])),
    };
    for (const [which, signature] of Object.entries(signatures)) {
      const bytes = sealObject(older.data, context, Buffer.concat([signature, text]));
      expect(() => openManifest(older, indexId, 1, bytes), which).toThrowError(
        expect.objectContaining({
          code: "corrupt",
          message: "manifest 1: it was not committed by a writer of this index",
        }),
      );
    }
    const good = older.sign("sealdex/1/manifest", message);
    openManifest(older, indexId, 1, sealObject(older.data, context, Buffer.concat([good, text])));
    // Sealed under newer keys than it declares.
    const signed = keys.sign("sealdex/1/manifest", message);
    const sealed = sealObject(keys.data, context, Buffer.concat([signed, text]));
    expect(() => openManifest(keys, indexId, 1, sealed)).toThrowError(
      expect.objectContaining({ code: "corrupt", message: "manifest 1: keyGeneration: expected 2, got 1" }),
    );
  });
});

test("a manifest drops objects of kinds that there are", () => {
  const keys = keysUpTo(1);
  const name = `index/${Buffer.from(indexId).toString("hex")}/manifest/${Number.MAX_SAFE_INTEGER - 1}`;
  for (const dropped of [5, null, "", "segment", "other/1-0"]) {
    const text = Buffer.from(JSON.stringify({ ...encodeManifest(empty), droppedObjects: [dropped] }));
    const signature = keys.sign("sealdex/1/manifest", Buffer.concat([indexId, text]));
    const context = { kind: "manifest", indexId, name } as const;
    const bytes = sealObject(keys.data, context, Buffer.concat([signature, text]));
    expect(() => openManifest(keys, indexId, 1, bytes), String(dropped)).toThrowError(
      expect.objectContaining({ code: "corrupt", message: expect.stringContaining("droppedObjects[0]") }),
    );
  }
});

describe("a watermark", () => {
  const before = { floor: 3, next: 8, since: 1000 };

  test("advances with the first commit after the grace period", () => {
    expect([isDue(before, 1099, 100), isDue(before, 1100, 100)]).toEqual([false, true]);
    expect(advanceWatermark(before, 12, 1099, 100)).toBe(before);
    expect(advanceWatermark(before, 12, 1100, 100)).toEqual({ floor: 8, next: 12, since: 1100 });
  });

  test("of a clock that was ahead is moved back, and its grace begins anew", () => {
    const movedBack = advanceWatermark({ floor: 1, next: 3, since: 500 }, 4, 100, 50);
    expect(movedBack).toEqual({ floor: 1, next: 3, since: 100 });
    expect(advanceWatermark(movedBack, 5, 149, 50)).toBe(movedBack);
    expect(advanceWatermark(movedBack, 6, 150, 50)).toEqual({ floor: 3, next: 6, since: 150 });
  });
});

describe("changes that wait together", () => {
  function pending(change: Change, holder?: string) {
    const outcomes: unknown[] = [];
    const settle = (outcome: unknown) => void outcomes.push(outcome);
    const one: Pending = { change, holder, resolve: settle, reject: settle };
    return { ...one, outcomes };
  }
  const adds = (amount: number) =>
    pending((latest) => ({ ...latest, dimension: (latest.dimension ?? 0) * 10 + amount }));
  const declines = () => pending(() => null);
  const error = new Error("refused");
  const refuses = () =>
    pending(() => {
      throw error;
    });

  test("are applied one after the other, from nothing dropped", () => {
    const latest = { ...empty, version: 4, previous: "digest", droppedObjects: ["before"] };
    const drops = pending((one) => ({ ...one, droppedObjects: [...one.droppedObjects, "x"] }));
    const waiting = [adds(1), drops, adds(2)];
    const { draft, members, deferred } = applyChanges(latest, waiting);
    expect(draft).toEqual({ ...latest, dimension: 12, droppedObjects: ["x"] });
    expect([members, deferred]).toEqual([waiting, []]);
  });

  test("do not say which version they are", () => {
    const lies = pending((latest) => ({ ...latest, version: 99, previous: "other" }));
    expect(applyChanges(empty, [lies]).draft).toMatchObject({ version: 1, previous: "" });
  });

  test("that decline or throw first are answered, and after others are asked again", () => {
    const [first, second, third, last] = [declines(), refuses(), declines(), refuses()];
    const { members, deferred } = applyChanges(empty, [first, second, adds(1), third, last]);
    expect(members).toHaveLength(1);
    expect(deferred).toEqual([third, last]);
    expect([first, second, third, last].map(({ outcomes }) => outcomes)).toEqual([[null], [error], [], []]);
  });

  test("begin with the one that was promised the reservation, which ends with them", () => {
    const latest = { ...empty, reservation: { holder: "me", ms: 5 } };
    const promised = { ...adds(1), holder: "me" };
    const { draft, members } = applyChanges(latest, [adds(2), { ...adds(3), holder: "other" }, promised]);
    expect(draft.dimension).toBe(123);
    expect(draft).not.toHaveProperty("reservation");
    expect(members[0]).toBe(promised);
    // Without a reservation, a change that has none is not promised anything.
    expect(applyChanges(empty, [{ ...adds(1), holder: "me" }, adds(2)]).draft.dimension).toBe(12);
  });
});

describe("replacing segments", () => {
  const [a, b, c, d] = ["a", "b", "c", "d"].map((name, i) => segmentRef(name, { sequence: i + 1 }));
  const { sequence: _, ...stored } = segmentRef("new");
  const latest = { ...withSegments(a, b, c, d), droppedObjects: ["earlier"] };
  const named = (name: string, namespace: string) => segmentRef(name, { namespace });

  test("puts the new in the place and the sequence of the newest of the old", () => {
    expect(replaceSegments(latest, { old: [b, c], stored: [stored] })).toEqual({
      segments: [a, { ...stored, sequence: 3 }, d],
      droppedObjects: ["earlier", "b", "c"],
    });
    expect(replaceSegments(latest, { old: [a, b, c, d], stored: [] })).toEqual({
      segments: [],
      droppedObjects: ["earlier", "a", "b", "c", "d"],
    });
  });

  test("replaces only segments that are older than those that others replaced since", () => {
    const gone = segmentRef("gone", { sequence: 3 });
    expect(replaceSegments(latest, { old: [b, gone, d], stored: [stored] })).toEqual({
      segments: [a, { ...stored, sequence: 2 }, c, d],
      droppedObjects: ["earlier", "b"],
    });
  });

  test("does nothing if the oldest are gone", () => {
    const gone = segmentRef("gone", { sequence: 1 });
    expect(replaceSegments(latest, { old: [gone, b], stored: [stored] })).toBeNull();
    expect(replaceSegments(latest, { old: [], stored: [stored] })).toBeNull();
    // Segments of one sequence go together.
    const twin = segmentRef("twin", { sequence: 2 });
    expect(replaceSegments(latest, { old: [b, twin], stored: [stored] })).toBeNull();
  });

  test("does each namespace by itself", () => {
    const [x, y] = [named("x", "nx"), named("y", "ny")];
    const gone = named("gone", "ny");
    const [newX, newY] = ["nx", "ny"].map((namespace) => ({
      ...stored,
      name: `new ${namespace}`,
      namespace,
    }));
    const mixed = withSegments(a, x, y);
    expect(replaceSegments(mixed, { old: [x, gone, a], stored: [newY, newX, stored] })).toEqual({
      segments: [{ ...stored, sequence: 1 }, { ...newX, sequence: 1 }, y],
      droppedObjects: ["x", "a"],
    });
  });
});

describe("a create", () => {
  const bytes = Buffer.from("own");

  test("counts if the blob is this one, whatever storage reports", async () => {
    const { quiet } = recordingStore();
    expect(await createConfirmed(quiet, "a", bytes)).toBe(true);
    expect(await createConfirmed(quiet, "a", bytes)).toBe(true);
    expect(await createConfirmed(quiet, "a", Buffer.from("other"))).toBe(false);
    const gone = { ...quiet, create: async () => false, read: async () => null };
    expect(await createConfirmed(gone, "a", bytes)).toBe(false);
  });

  test("that fails is decided by the stored manifest", async () => {
    const { quiet } = recordingStore();
    const failure = new Error("no answer");
    const failing = (effect: boolean) => ({
      ...quiet,
      async create(key: string, content: Uint8Array): Promise<boolean> {
        if (effect) await quiet.create(key, content);
        throw failure;
      },
    });
    await expect(createConfirmed(failing(false), "a", bytes)).rejects.toBe(failure);
    expect(await createConfirmed(failing(true), "a", bytes)).toBe(true);
    expect(await createConfirmed(failing(true), "a", Buffer.from("other"))).toBe(false);
  });

  test("that is acknowledged reads nothing", async () => {
    const { store, reads } = recordingStore();
    await createConfirmed(store, "a", bytes);
    expect(reads).toEqual([]);
  });
});

describe("the time since a moment", () => {
  const clockAt = (wall: number, steady: number) => ({
    ...systemClock,
    wall: () => wall,
    steady: () => steady,
  });

  test("is never too short if one of the clocks is wrong", () => {
    const since = instant(clockAt(1000, 50));
    expect(since).toEqual({ wall: 1000, steady: 50 });
    expect(elapsedMs(clockAt(1100, 150), since)).toBe(100);
    // The wall clock was set back; the steady one stood still while the machine slept.
    expect(elapsedMs(clockAt(400, 150), since)).toBe(100);
    expect(elapsedMs(clockAt(9000, 50), since)).toBe(8000);
  });
});

describe("the clock of the system", () => {
  test("is that of the process, and calls once unless it is told not to", async () => {
    expect(Math.abs(systemClock.wall() - Date.now())).toBeLessThan(24 * 3_600_000);
    const steady = systemClock.steady();
    expect(steady).toBeGreaterThan(0);
    expect(steady).toBeLessThanOrEqual(performance.now());
    const called: string[] = [];
    const cancel = systemClock.after(1, () => called.push("cancelled"));
    cancel();
    const later = new Promise<void>((resolve) => {
      systemClock.after(1, () => {
        called.push("called");
        resolve();
      });
    });
    // A timer of the clock keeps no process alive; this one does.
    const alive = setInterval(() => {}, 1000);
    await later;
    await systemClock.pause(2);
    clearInterval(alive);
    expect(called).toEqual(["called"]);
  });
});
