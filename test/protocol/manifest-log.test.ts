/** The log of one process: its requests, commits and answers. */

import { describe, expect, test } from "vitest";
import { type Change, ManifestLog } from "../../src/state/commit/manifest-log.js";
import { type Manifest, type ObjectRef, objectsDropped } from "../../src/state/commit/manifest.js";
import { historyMs, uploadMs } from "../../src/state/commit/retention.js";
import { SealdexError } from "../../src/errors.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { identityOf, keysetUpTo, keysUpTo, nameOf, newLog, same, segmentRef } from "./commit-world.js";

const freshMs = historyMs / 4;

const deleted = { code: "not_found", message: 'index "borders": it was deleted' };

describe("a new index", () => {
  test("has an empty version 1 of now, which is known", async () => {
    const { own, costs, clock, quiet } = await newLog();
    expect(await quiet.list("")).toEqual([nameOf(1)]);
    const since = clock.wall();
    const watermark = { floor: 1, next: 1, since };
    expect(own.known).toMatchObject({ version: 1, segments: [], history: watermark, uploads: watermark });
    expect(own.now()).toBe(since);
    expect(own.knownVersion).toBe(1);
    expect((await own.newest()).version).toBe(1);
    expect(costs()).toEqual({ reads: 1, creates: 0, lists: 0 });
  });

  test("has begun if its first version is certainly there", async () => {
    const { own, open, clock, quiet, costs } = await newLog();
    expect(await open().exists()).toBe(false);
    clock.advance(freshMs - 1);
    expect([await own.exists(), costs().reads]).toEqual([true, 0]);
    clock.advance(1);
    expect([await own.exists(), costs().reads]).toEqual([true, 1]);
    await quiet.delete([nameOf(1)]);
    expect(await own.exists()).toBe(false);
  });

  test("has no version if the first cannot be stored", async () => {
    const { quiet, open } = await newLog();
    await quiet.delete([nameOf(1)]);
    const refusing: BlobStore = {
      ...quiet,
      create: async () => {
        throw new SealdexError("storage_unavailable", "no connection");
      },
    };
    const log = open(refusing);
    await expect(log.createFirst()).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(log.known).toBeUndefined();
    expect(log.knownVersion).toBe(1);
    await expect(log.knownOrNewest()).rejects.toMatchObject({ code: "missing_object" });
  });
});

describe("reading", () => {
  test("a state is that of its digest, or none", async () => {
    const { own, open, quiet } = await newLog();
    const first = await own.newestSealed();
    await own.commit(same);
    const { digest } = await own.newestSealed();
    const log = open();
    expect((await log.manifestOf({ version: 2, digest })).version).toBe(2);
    expect((await own.manifestOf({ version: 2, digest })).version).toBe(2);
    expect((await log.manifestOf({ version: 1, digest: first.digest })).version).toBe(1);
    const other = { code: "rollback_detected", message: 'index "borders": manifest 2 is another' };
    await expect(log.manifestOf({ version: 2, digest: first.digest })).rejects.toMatchObject(other);
    await quiet.delete([nameOf(1)]);
    const gone = { code: "missing_object", message: 'index "borders": manifest 1 is gone' };
    await expect(open().manifestOf({ version: 1, digest: first.digest })).rejects.toMatchObject(gone);
    // The state that was asked for last is kept.
    expect((await log.manifestOf({ version: 1, digest: first.digest })).version).toBe(1);
  });

  test("known manifests are requested once", async () => {
    const { open, store, own, costs } = await newLog();
    await own.commit(same);
    const log = open(store);
    const before = costs();
    expect((await log.knownOrNewest()).version).toBe(2);
    expect((await log.knownOrNewest()).version).toBe(2);
    expect([log.known?.version, log.knownVersion]).toEqual([2, 2]);
    expect(costs()).toEqual({ ...before, reads: before.reads + 1, lists: before.lists + 1 });
  });

  test("the known manifest needs no waiting if it is recent or storage tells that there is none after it", async () => {
    const { open, own, clock } = await newLog();
    const other = open();
    await other.newest();
    clock.advance(1);
    // The store of `own` records its calls, and so cannot be asked without a read.
    expect(own.newestNow(0)).toBeUndefined();
    expect(own.newestNow(1)?.version).toBe(1);
    expect(other.newestNow(0)?.version).toBe(1);
    await own.commit(same);
    expect(other.newestNow(0)).toBeUndefined();
    expect((await other.newest()).version).toBe(2);
    expect(other.newestNow(0)?.version).toBe(2);
    await own.commit((latest) => ({ ...latest, dropped: true }));
    expect(other.newestNow(0)).toBeUndefined();
    await expect(other.newest()).rejects.toMatchObject(deleted);
    expect(() => other.newestNow(0)).toThrowError(expect.objectContaining(deleted));
  });

  test("a known manifest is recent for as long as was asked for", async () => {
    const { own, open, clock, costs } = await newLog();
    expect(open().recent(1000)).toBeUndefined();
    expect(own.recent(0)).toBeUndefined();
    clock.advance(1000);
    expect(own.recent(999)).toBeUndefined();
    expect(own.recent(1000)?.version).toBe(1);
    expect((await own.newest(1000)).version).toBe(1);
    expect(costs().reads).toBe(0);
    await own.newest(999);
    expect(costs().reads).toBe(1);
  });

  test("manifests are read by their numbers", async () => {
    const { own } = await newLog();
    await own.commit((latest) => ({ ...latest, dimension: 3 }));
    expect((await own.manifestAt(2))?.dimension).toBe(3);
    expect(await own.manifestAt(3)).toBeNull();
  });

  test("a deleted index is not found, by those that knew it too", async () => {
    const { own, open, clock } = await newLog();
    const dropping = await own.commit((latest) => ({ ...latest, dropped: true }));
    expect(dropping).toMatchObject({ dropped: true, version: 2 });
    const other = open();
    expect((await other.newestSealed()).manifest.dropped).toBe(true);
    for (const log of [own, other]) {
      expect([log.known, log.knownVersion]).toEqual([undefined, 2]);
      await expect(log.newest()).rejects.toMatchObject(deleted);
      await expect(log.knownOrNewest()).rejects.toMatchObject(deleted);
      await expect(log.commit(same)).rejects.toMatchObject(deleted);
      clock.advance(1);
      expect(() => log.recent(1)).toThrowError(expect.objectContaining(deleted));
    }
    expect(await own.manifestAt(3)).toBeNull();
  });

  test("access that has expired reads and commits nothing more", async () => {
    const { quiet, clock, open } = await newLog();
    const expiresAt = clock.wall() + 10;
    const keys = keysUpTo(1);
    keys.update({ ...keysetUpTo(1), expiresAt });
    const log = open(quiet, keys);
    clock.advance(9);
    await log.commit(same);
    clock.advance(1);
    const expired = { code: "forbidden", message: 'index "borders": the access by this key has expired' };
    await expect(log.newest()).rejects.toMatchObject(expired);
    await expect(log.commit(same)).rejects.toMatchObject(expired);
    expect(await quiet.list("")).toHaveLength(2);
  });
});

describe("a commit", () => {
  test("follows the one before, and carries the watermarks on", async () => {
    const { own, clock } = await newLog();
    const first = (await own.newestSealed()).digest;
    clock.advance(historyMs - 1);
    const early = await own.commit((latest) => ({ ...latest, dimension: 7 }));
    expect(early).toMatchObject({ version: 2, previous: first, dimension: 7, droppedObjects: [] });
    expect(early?.history).toMatchObject({ floor: 1, next: 1 });
    clock.advance(1);
    await own.commit(same);
    expect(own.known?.history).toEqual({ floor: 1, next: 3, since: clock.wall() });
    clock.advance(historyMs);
    await own.commit(same);
    await own.commit(same);
    expect(own.known?.history).toEqual({ floor: 3, next: 4, since: clock.wall() });
    clock.advance(uploadMs - 2 * historyMs);
    await own.commit(same);
    expect(own.known?.uploads).toEqual({ floor: 1, next: 6, since: clock.wall() });
  });

  test("builds on the known manifest for ten seconds, then reads first", async () => {
    const { own, clock, costs, reset } = await newLog();
    clock.advance(9999);
    await own.commit(same);
    // Whether the known manifest is still there.
    expect(costs()).toEqual({ reads: 1, creates: 1, lists: 0 });
    reset();
    clock.advance(10_000);
    await own.commit(same);
    expect(costs()).toEqual({ reads: 2, creates: 1, lists: 0 });
  });

  test("asks storage for nothing more, if it was asked while objects were stored", async () => {
    const { own, clock, costs, reset } = await newLog();
    await Promise.all([own.prepareCommit(), own.prepareCommit()]);
    expect(costs()).toEqual({ reads: 1, creates: 0, lists: 0 });
    reset();
    await own.commit(same);
    expect(costs()).toEqual({ reads: 0, creates: 1, lists: 0 });
    await own.commit(same);
    expect(costs()).toEqual({ reads: 1, creates: 2, lists: 0 });
    await own.prepareCommit();
    clock.advance(10_000);
    reset();
    await own.commit(same);
    // The next manifest, and again whether the known one is still there.
    expect(costs()).toEqual({ reads: 2, creates: 1, lists: 0 });
  });

  test("asks again if that failed, or nothing was known then", async () => {
    const { open, own, store, before, costs, reset } = await newLog();
    before.read = () => Promise.reject(new SealdexError("storage_unavailable", "no connection"));
    await own.prepareCommit();
    before.read = async () => {};
    reset();
    await own.commit(same);
    expect(costs()).toEqual({ reads: 1, creates: 1, lists: 0 });
    reset();
    await open(store).prepareCommit();
    expect(costs()).toEqual({ reads: 0, creates: 0, lists: 0 });
  });

  test("is refused if a backup was restored whose newest manifest is an older one", async () => {
    const { own, quiet, clock, costs, reset } = await newLog();
    const backup = await quiet.read(nameOf(1), { offset: 0, length: 1e6 });
    await own.commit(same);
    await quiet.delete([nameOf(1), nameOf(2)]);
    await quiet.create(nameOf(1), backup ?? new Uint8Array());
    clock.advance(1);
    reset();
    await own.prepareCommit();
    await expect(own.commit(same)).rejects.toMatchObject({ code: "rollback_detected" });
    expect(costs().creates).toBe(0);
  });

  test("of a process that knows nothing begins with the list", async () => {
    const { open, store, costs } = await newLog();
    const committed = await open(store).commit(same);
    expect(committed?.version).toBe(2);
    expect(costs()).toEqual({ reads: 2, creates: 1, lists: 1 });
  });

  test("is made under the keys of the manifest before it, unless the change brings others into force", async () => {
    const { quiet, open } = await newLog();
    const own = keysUpTo(1);
    const log = open(quiet, own);
    const seen: number[] = [];
    const note = (latest: Manifest) => {
      seen.push(latest.keyGeneration);
      return latest;
    };
    await log.commit(note);
    own.update(keysetUpTo(2));
    await log.commit(note);
    expect((await log.commit((latest) => ({ ...latest, keyGeneration: 2 })))?.keyGeneration).toBe(2);
    expect(own.generation).toBe(2);
    expect((await log.commit(note))?.keyGeneration).toBe(2);
    expect(seen).toEqual([1, 1, 2]);
  });

  test("reports its changes and the dropped objects", async () => {
    const { quiet, clock } = await newLog();
    const versions: number[][] = [];
    const dropped: (readonly ObjectRef[])[] = [];
    const log = new ManifestLog(quiet, identityOf(keysUpTo(1)), clock, undefined, (before, committed) => {
      versions.push([before.version, committed.version]);
      dropped.push(objectsDropped(before, committed));
    });
    const [a, b] = [segmentRef("a"), segmentRef("b", { sequence: 2 })];
    await log.commit((latest) => ({ ...latest, segments: [a, b] }));
    await log.commit((latest) => ({ ...latest, segments: [b], droppedObjects: ["a"] }));
    await log.commit(same);
    await log.commit(() => null);
    expect(dropped).toEqual([[], [a], []]);
    expect(versions).toEqual([
      [1, 2],
      [2, 3],
      [3, 4],
    ]);
    expect(log.known?.droppedObjects).toEqual([]);
  });

  test("that declines, or throws, stores nothing", async () => {
    const { own, costs } = await newLog();
    expect(await own.commit(() => null)).toBeNull();
    const refuse = () => {
      throw new Error("refused");
    };
    await expect(own.commit(refuse)).rejects.toThrow("refused");
    expect(costs().creates).toBe(0);
  });

  test("that finds no index, or no connection, rejects all that wait, and the next one continues", async () => {
    const { own, quiet, before, clock } = await newLog();
    clock.advance(10_000);
    before.read = async () => {
      throw new SealdexError("storage_unavailable", "no connection");
    };
    const outcomes = await Promise.allSettled([own.commit(same), own.commit(same)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    before.read = async () => {};
    expect((await own.commit(same))?.version).toBe(2);
    expect(await quiet.list("")).toHaveLength(2);
  });

  test("rejects if the store fails, and the changes behind it are committed", async () => {
    const { own, before } = await newLog();
    let behind: Promise<Manifest | null> | undefined;
    before.create = async () => {
      before.create = async () => {};
      behind = own.commit((latest) => ({ ...latest, erasures: 1 }));
      throw new SealdexError("storage_unavailable", "no connection");
    };
    const first = own.commit((latest) => ({ ...latest, dimension: 1 }));
    await expect(first).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(await behind).toMatchObject({ version: 2, erasures: 1 });
    expect(own.known?.dimension).toBeUndefined();
  });

  test("that loses races waits longer and longer, from the second on", async () => {
    const { own, open, before, clock } = await newLog();
    const other = open();
    let races = 8;
    before.create = async () => {
      if (races-- > 0) await other.commit(same);
    };
    const committed = await own.commit((latest) => ({ ...latest, dimension: 4 }));
    expect(committed).toMatchObject({ version: 10, dimension: 4 });
    expect(clock.pauses).toEqual([4, 8, 16, 32, 50, 50, 50]);
    // A win ends it.
    races = 2;
    clock.pauses.length = 0;
    await own.commit(same);
    expect(clock.pauses).toEqual([4]);
  });

  test.each(["creating", "declining"])(
    "that ends by %s has lost no race: the changes behind it do not pause",
    async (by) => {
      const { own, before, clock, costs } = await newLog();
      const outcomes: Promise<unknown>[] = [];
      let left = 4;
      /** Ends one commit while the next one waits already. */
      const end = () => {
        if (left-- > 0) outcomes.push(own.commit(change).catch(() => "failed"));
      };
      const fail = async () => {
        end();
        throw new SealdexError("storage_unavailable", "no connection");
      };
      const change: Change = (latest) => {
        if (by !== "declining") return latest;
        end();
        return null;
      };
      if (by === "creating") before.create = fail;
      end();
      while (outcomes.length < 4) await new Promise(setImmediate);
      const expected = by === "declining" ? null : "failed";
      expect(await Promise.all(outcomes)).toEqual(Array.from({ length: 4 }, () => expected));
      expect([clock.pauses, costs().creates]).toEqual([[], by === "creating" ? 4 : 0]);
    },
  );

  test("next to another writer looks first; once that has stopped, no longer", async () => {
    const { own, open, costs, reset } = await newLog();
    const other = open();
    const creates: number[] = [];
    for (let round = 0; round < 4; round++) {
      await other.commit(same);
      reset();
      await own.commit(same);
      creates.push(costs().creates);
    }
    // The first race is lost.
    expect(creates).toEqual([2, 1, 1, 1]);
    reset();
    await own.commit(same);
    expect(costs()).toEqual({ reads: 2, creates: 1, lists: 0 });
    reset();
    await own.commit(same);
    expect(costs()).toEqual({ reads: 1, creates: 1, lists: 0 });
  });

  test("made while another one is under way waits for it", async () => {
    const { own, before, creates } = await newLog();
    let release = () => {};
    before.create = () => new Promise((resolve) => (release = resolve));
    const first = own.commit(same);
    await new Promise(setImmediate);
    before.create = async () => {};
    const rest = [own.commit(same), own.commit(same)];
    await new Promise(setImmediate);
    expect(creates).toEqual([nameOf(2)]);
    release();
    expect((await first)?.version).toBe(2);
    expect((await Promise.all(rest)).map((one) => one?.version)).toEqual([3, 3]);
    expect(creates).toEqual([nameOf(2), nameOf(3)]);
  });
});
