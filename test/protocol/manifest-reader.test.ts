/** The newest manifest, and the cost of finding it: fresh or old memory, gaps, replaced histories, revoked keys. */

import { describe, expect, test } from "vitest";
import { AnchoredHistory, AnchorStore } from "../../src/state/commit/anchored-history.js";
import { ManifestReader, type SeenManifest } from "../../src/state/commit/manifest-reader.js";
import type { SealedManifest } from "../../src/state/commit/stored-manifest.js";
import { manifestName, manifestPrefix } from "../../src/state/commit/object-names.js";
import { historyMs } from "../../src/state/commit/retention.js";
import {
  chain,
  identityOf,
  indexId,
  keysetUpTo,
  keysUpTo,
  recordingStore,
  sealAfter,
  storeAll,
  wavesOf,
} from "./commit-world.js";
import { StandingClock } from "./standing-clock.js";

const freshMs = historyMs / 4;
const keys = keysUpTo(1);
const name = (version: number) => manifestName(indexId, version);
const replaced = { code: "rollback_detected", message: 'index "borders": its history was replaced' };

/** Stored manifests 1 to `stored` of `length`, and a reader that knows `known`. */
async function world(length: number, stored = length, known?: number) {
  const recording = recordingStore();
  const clock = new StandingClock();
  const manifests = chain(length, keys);
  await storeAll(recording.quiet, manifests.slice(0, stored));
  const reader = new ManifestReader(recording.store, identityOf(keys), clock);
  const at = { wall: clock.wall(), steady: clock.steady() };
  if (known !== undefined) reader.remember({ sealed: manifests[known - 1], at });
  const costs = () => ({ reads: recording.reads.length, lists: recording.lists.length });
  return { ...recording, clock, manifests, reader, costs };
}

const versionOf = ({ sealed }: SeenManifest) => sealed.manifest.version;

describe("without memory", () => {
  test("the first of the list is the newest", async () => {
    const { reader, lists, reads, clock } = await world(12);
    clock.advance(77);
    const newest = await reader.newest();
    expect(versionOf(newest)).toBe(12);
    expect(newest.at).toEqual({ wall: clock.wall(), steady: 77 });
    expect(lists).toEqual([{ prefix: manifestPrefix(indexId), options: { limit: 1 } }]);
    expect(reads).toEqual([name(12)]);
    expect(reader.known).toBe(newest);
  });

  test("foreign objects among the manifests are skipped", async () => {
    const { reader, quiet } = await world(2);
    for (const key of ["0", "00", "zz"]) await quiet.create(manifestPrefix(indexId) + key, Buffer.of(1));
    expect(versionOf(await reader.newest())).toBe(2);
  });

  test("an index whose manifests are gone is missing", async () => {
    const { reader, quiet, costs } = await world(1, 0);
    const gone = { code: "missing_object", message: 'index "borders": its manifests are gone' };
    await expect(reader.newest()).rejects.toMatchObject(gone);
    expect(costs()).toEqual({ reads: 0, lists: 1 });
    await quiet.create(`${manifestPrefix(indexId)}0`, Buffer.of(1));
    await expect(reader.newest()).rejects.toMatchObject(gone);
    expect(reader.known).toBeUndefined();
  });

  test("a manifest that is deleted between its listing and its reading has a newer one", async () => {
    const { reader, quiet, before, manifests, costs } = await world(5, 3);
    before.read = async (key) => {
      if (key !== name(3)) return;
      await storeAll(quiet, manifests.slice(3));
      await quiet.delete([name(1), name(2), name(3)]);
    };
    expect(versionOf(await reader.newest())).toBe(5);
    expect(costs()).toEqual({ reads: 2, lists: 2 });
  });

  test("manifests that are listed and never there are missing after three attempts", async () => {
    const { store, clock } = await world(1);
    let attempts = 0;
    const forgetful = { ...store, read: async () => (attempts++, null) };
    const reader = new ManifestReader(forgetful, identityOf(keys), clock);
    await expect(reader.newest()).rejects.toMatchObject({ code: "missing_object" });
    expect(attempts).toBe(3);
  });

  test("a manifest by its number is null if it is not there", async () => {
    const { reader, manifests } = await world(2);
    expect((await reader.read(2))?.digest).toBe(manifests[1].digest);
    expect(await reader.read(3)).toBeNull();
  });
});

describe("with a list that was made before", () => {
  const listedAt = { wall: 1, steady: 2 };
  const listOf = (...names: string[]) => ({ names, at: listedAt });

  test("the first manifest of the index in it is the newest at the time of that list", async () => {
    const { reader, costs } = await world(3);
    const other = manifestName(new Uint8Array(16).fill(1), 9);
    const names = [other, `${manifestPrefix(indexId)}0`, name(3), name(2), name(1)];
    const newest = await reader.newest(listOf(...names));
    expect(versionOf(newest)).toBe(3);
    expect(newest.at).toEqual(listedAt);
    expect(reader.known).toBe(newest);
    expect(costs()).toEqual({ reads: 1, lists: 0 });
  });

  test.each([
    ["has none of the index", [], { reads: 1, lists: 1 }],
    ["has one that was deleted since then", [name(9)], { reads: 2, lists: 1 }],
  ])("that %s, manifests are listed again", async (_, names, expected) => {
    const { reader, costs } = await world(3);
    expect(versionOf(await reader.newest(listOf(...names)))).toBe(3);
    expect(costs()).toEqual(expected);
  });

  test("a manifest of keys that were replaced before it is refused", async () => {
    const { quiet, manifests, store, clock } = await world(2);
    const renewed = sealAfter(manifests[1], keysUpTo(2), { keyGeneration: 2 });
    const revoked = sealAfter(renewed, keys);
    await storeAll(quiet, [renewed, revoked]);
    const reader = new ManifestReader(store, identityOf(keysUpTo(2)), clock);
    await expect(reader.newest(listOf(name(4)))).rejects.toMatchObject(replaced);
  });
});

describe("with a known manifest", () => {
  test.each([
    // Read one by one, then 2, 4, 8 and 16 at a time.
    [0, { reads: 1, lists: 0 }],
    [1, { reads: 3, lists: 0 }],
    [2, { reads: 3, lists: 0 }],
    [3, { reads: 7, lists: 0 }],
    [30, { reads: 31, lists: 0 }],
    // Then the list is read.
    [31, { reads: 32, lists: 1 }],
    [60, { reads: 32, lists: 1 }],
  ])("%i manifests behind, finding the newest costs %j", async (behind, expected) => {
    const { reader, costs } = await world(4 + behind, 4 + behind, 4);
    expect(versionOf(await reader.newest())).toBe(4 + behind);
    expect(costs()).toEqual(expected);
  });

  test("objects that are read ahead are read together", async () => {
    const { reader, reads, before } = await world(40, 40, 1);
    const waves = wavesOf(before);
    await reader.newest();
    expect(waves).toEqual([1, 2, 4, 8, 16, 1]);
    expect(reads[30]).toBe(name(32));
  });

  test("the time of the newest is that of the request for its successor", async () => {
    const { reader, before, clock, manifests } = await world(2, 2, 1);
    before.read = async () => clock.advance(10);
    const newest = await reader.newest();
    expect([versionOf(newest), newest.at.steady]).toEqual([2, 10]);
    expect(newest.sealed.digest).toBe(manifests[1].digest);
  });

  test("a memory that is a quarter of the history old is checked", async () => {
    const { reader, clock, costs, reset, manifests } = await world(1, 1, 1);
    expect(reader.isFresh({ sealed: manifests[0], at: { wall: clock.wall(), steady: 0 } })).toBe(true);
    clock.advance(freshMs - 1);
    await reader.newest();
    expect(costs()).toEqual({ reads: 1, lists: 0 });
    // It has been the newest again since.
    reset();
    clock.advance(freshMs - 1);
    await reader.newest();
    expect(costs()).toEqual({ reads: 1, lists: 0 });
    reset();
    clock.advance(freshMs);
    expect(versionOf(await reader.newest())).toBe(1);
    expect(costs()).toEqual({ reads: 2, lists: 0 });
  });

  /** Manifests 5 to 9, of which those before `floor` may be deleted, and a reader that has slept since version 2. */
  async function collectedWorld(floor: number) {
    const one = await world(0);
    const manifests = chain(9, keys, floor);
    await storeAll(one.quiet, manifests.slice(4));
    one.reader.remember({ sealed: manifests[1], at: { wall: one.clock.wall(), steady: 0 } });
    one.clock.advance(freshMs);
    return { ...one, manifests };
  }

  test("an old memory whose manifest is gone is replaced by the list", async () => {
    const { reader, costs } = await collectedWorld(5);
    expect(versionOf(await reader.newest())).toBe(9);
    expect(costs()).toEqual({ reads: 3, lists: 1 });
  });

  test("an old memory whose manifest is gone, with one of a writer that slept in the next place, is replaced by the list", async () => {
    const { reader, quiet, manifests } = await collectedWorld(5);
    await storeAll(quiet, [sealAfter(manifests[1], keys, { dimension: 3 })]);
    expect(versionOf(await reader.newest())).toBe(9);
  });

  test("an old memory whose manifest is gone, and may not be, is of another history", async () => {
    const { reader } = await collectedWorld(2);
    await expect(reader.newest()).rejects.toMatchObject(replaced);
  });

  test.each([0, freshMs, 10 * historyMs])(
    "a next manifest that names another one before it is of another history, after %i ms",
    async (ms) => {
      const { reader, quiet, clock, manifests } = await world(2, 0, 2);
      const other = sealAfter(manifests[1], keys, { previous: "0".repeat(64) });
      await storeAll(quiet, [other, ...chain(9, keys, 9).slice(3)]);
      clock.advance(ms);
      await expect(reader.newest()).rejects.toMatchObject(replaced);
    },
  );

  test.each([0, freshMs])(
    "a later manifest that names another one before it is of another history while the remembered one is stored, after %i ms",
    async (ms) => {
      const { reader, quiet, clock, manifests } = await world(2, 0, 2);
      const third = sealAfter(manifests[1], keys);
      await storeAll(quiet, [third, sealAfter(third, keys, { previous: "0".repeat(64) })]);
      clock.advance(ms);
      await expect(reader.newest()).rejects.toMatchObject(replaced);
    },
  );

  test("an older one does not take its place, an equal one does", async () => {
    const { reader, manifests, clock } = await world(3, 3, 2);
    const seen = (version: number) => ({
      sealed: manifests[version - 1],
      at: { wall: clock.wall(), steady: clock.steady() },
    });
    const known = reader.known;
    expect(reader.remember(seen(1))).toBe(known);
    clock.advance(5);
    const equal = seen(2);
    expect(reader.remember(equal)).toBe(equal);
    const newer = seen(3);
    expect(reader.remember(newer)).toBe(newer);
    expect(reader.known).toBe(newer);
  });

  test("a manifest stands if it is stored under its number", async () => {
    const { reader, quiet, manifests } = await world(2);
    expect(await reader.isStillStored(manifests[1])).toBe(true);
    expect(await reader.isStillStored(sealAfter(manifests[0], keys))).toBe(false);
    await quiet.delete([name(2)]);
    expect(await reader.isStillStored(manifests[1])).toBe(false);
  });
});

describe("a replaced history", () => {
  async function replacedWorld(build: (manifests: readonly SealedManifest[]) => readonly SealedManifest[]) {
    const one = await world(4, 0, 4);
    await storeAll(one.quiet, build(one.manifests));
    return one;
  }
  const fork = (before: SealedManifest) => sealAfter(before, keys, { dimension: 3 });

  test("is found by the next manifest", async () => {
    const { reader } = await replacedWorld((all) => {
      const other = fork(all[2]);
      return [...all.slice(0, 3), other, sealAfter(other, keys)];
    });
    await expect(reader.newest()).rejects.toMatchObject(replaced);
    expect(reader.known && versionOf(reader.known)).toBe(4);
  });

  test.each([
    ["one that is shorter", 3],
    ["one of equal length", 4],
  ])("is found in the list: %s", async (_, length) => {
    const { reader, clock } = await replacedWorld((all) =>
      [...all.slice(0, length - 1), fork(all[length - 2])].slice(0, length),
    );
    clock.advance(freshMs);
    await expect(reader.newest()).rejects.toMatchObject(replaced);
  });

  test("is not found if the newest of the list is the known one", async () => {
    const { reader } = await replacedWorld((all) => all);
    const known = reader.known;
    expect(await reader.locate(known)).toMatchObject({ sealed: { digest: known?.sealed.digest } });
  });
});

describe("keys", () => {
  const newer = keysUpTo(2);

  /** Manifests 1 to `length`, of which `second` is the only one under the second generation. */
  function mixed(length: number, second: number): SealedManifest[] {
    const manifests = chain(1, keys);
    while (manifests.length < length) {
      const ring = manifests.length + 1 === second ? newer : keys;
      manifests.push(sealAfter(manifests[manifests.length - 1], ring));
    }
    return manifests;
  }

  /** `since`: from which version on the second generation counts. */
  async function readerOf(manifests: readonly SealedManifest[], known?: SealedManifest, since?: number) {
    const recording = recordingStore();
    await storeAll(recording.quiet, manifests);
    const reader = new ManifestReader(recording.store, identityOf(keysUpTo(2, since)), new StandingClock());
    if (known !== undefined) reader.remember({ sealed: known, at: { wall: 1_800_000_000_000, steady: 0 } });
    return { ...recording, reader };
  }

  test("are renewed if a manifest is sealed under newer ones, and only then", async () => {
    const { store, quiet } = recordingStore();
    await storeAll(quiet, mixed(2, 2));
    const own = keysUpTo(1);
    const renewed: number[] = [];
    const renewKeys = async (generation: number) => {
      renewed.push(generation);
      own.update(keysetUpTo(2));
    };
    const reader = new ManifestReader(store, { ...identityOf(own), renewKeys }, new StandingClock());
    await reader.read(1);
    expect([renewed, own.generation]).toEqual([[], 1]);
    expect(versionOf(await reader.newest())).toBe(2);
    expect(own.generation).toBe(2);
    await reader.read(1);
    expect(renewed).toEqual([2]);
  });

  test("that were replaced commit nothing more: the next manifest is refused", async () => {
    const manifests = mixed(3, 2);
    const { reader } = await readerOf(manifests, manifests[1]);
    await expect(reader.newest()).rejects.toMatchObject(replaced);
  });

  test("that were replaced commit nothing more: the newest of the list is refused", async () => {
    const manifests = mixed(40, 2);
    const { reader } = await readerOf(manifests.slice(-1), manifests[1]);
    await expect(reader.locate(reader.known)).rejects.toMatchObject(replaced);
  });

  test.each([2, 39])(
    "that were replaced after version %i commit nothing more, for a process that remembers nothing",
    async (second) => {
      const { reader, reads } = await readerOf(mixed(40, second));
      await expect(reader.newest()).rejects.toMatchObject(replaced);
      expect(reads).toEqual([name(40)]);
    },
  );

  test("that were replaced commit nothing more, whether or not storage shows that others have", async () => {
    const { reader } = await readerOf(chain(9, keys));
    await expect(reader.newest()).rejects.toMatchObject(replaced);
  });

  test("count from a version on: an older manifest of theirs is not the newest", async () => {
    for (const [since, length] of [
      [3, 2],
      [3, 3],
    ]) {
      const { reader } = await readerOf(mixed(length, length), undefined, since);
      const newest = reader.newest();
      if (length < since) await expect(newest).rejects.toMatchObject(replaced);
      else expect(versionOf(await newest)).toBe(3);
    }
  });

  test("that do not count any more at a version follow nothing, for a process that remembers an older one", async () => {
    const manifests = chain(5, keys);
    const history = { floor: 5, next: 5, since: 0 };
    const newest = sealAfter(manifests[4], keys, { history });
    for (const [since, stored] of [
      [3, manifests],
      [6, [newest]],
    ] as const) {
      const { reader } = await readerOf(stored, undefined, since);
      const at = { wall: 1_800_000_000_000 - freshMs, steady: 0 };
      reader.remember({ sealed: manifests[1], at });
      await expect(reader.newest()).rejects.toMatchObject(replaced);
    }
  });
});

describe("with anchors", () => {
  async function anchored(length: number, stored: number) {
    const one = await world(length, stored);
    const anchors = recordingStore();
    const keep = new AnchorStore(anchors.quiet, identityOf(keys));
    const history = new AnchoredHistory(
      identityOf(keys),
      new AnchorStore(anchors.store, identityOf(keys)),
      undefined,
    );
    const reader = new ManifestReader(one.store, identityOf(keys), one.clock, history);
    const anchor = ({ manifest: { version }, digest }: SealedManifest) =>
      keep.advance({ version, digest }, keys.generation);
    return { ...one, reader, anchor, anchors, keep };
  }

  test("an index that has none yet is read as it is", async () => {
    const { reader } = await anchored(3, 3);
    expect(versionOf(await reader.newest())).toBe(3);
  });

  test("the newest manifest is proven from the anchor, and refused if it is older", async () => {
    const { reader, anchor, manifests, reads, quiet } = await anchored(5, 5);
    await anchor(manifests[2]);
    expect(versionOf(await reader.newest())).toBe(5);
    expect(reads).toEqual([5, 3, 4].map(name));
    await quiet.delete([name(5), name(4)]);
    const again = await anchored(5, 2);
    await again.anchor(manifests[2]);
    await expect(again.reader.newest()).rejects.toMatchObject({ code: "rollback_detected" });
    expect(again.reader.known).toBeUndefined();
  });

  test("the anchored manifest itself is read once", async () => {
    const { reader, anchor, manifests, costs } = await anchored(3, 3);
    await anchor(manifests[2]);
    await reader.newest();
    expect(costs()).toEqual({ reads: 1, lists: 1 });
  });

  test("a deleted index is read as such, and is refused if storage shows it as it was before", async () => {
    const { reader, anchor, keep, manifests, quiet } = await anchored(3, 3);
    await anchor(manifests[2]);
    await reader.newest();
    await keep.end();
    await expect(reader.newest()).rejects.toMatchObject({ code: "rollback_detected" });
    const last = sealAfter(manifests[2], keys, { dropped: true });
    await storeAll(quiet, [last]);
    expect(await reader.newest()).toMatchObject({ sealed: { digest: last.digest } });
    const other = await anchored(3, 3);
    await other.anchor(other.manifests[2]);
    await other.reader.newest();
    await other.keep.end();
    const fork = sealAfter(other.manifests[1], keys, { dimension: 5 });
    await storeAll(other.quiet, [sealAfter(fork, keys, { dropped: true })]);
    await expect(other.reader.newest()).rejects.toMatchObject({ code: "rollback_detected" });
  });

  test("a deleted index whose manifests are gone is missing", async () => {
    const { reader, anchor, keep, manifests } = await anchored(3, 0);
    await anchor(manifests[2]);
    await keep.end();
    await expect(reader.newest()).rejects.toMatchObject({ code: "missing_object" });
  });

  test("a commit that is anchored between the two reads is read as well", async () => {
    const { reader, anchor, manifests, quiet, anchors, costs } = await anchored(3, 2);
    await anchor(manifests[1]);
    anchors.before.read = async (key) => {
      anchors.before.read = async () => {};
      // By then the newest manifest was read.
      await new Promise(setImmediate);
      await storeAll(quiet, manifests.slice(2));
      await anchor(manifests[2]);
      await anchors.quiet.delete([key]);
    };
    expect(versionOf(await reader.newest())).toBe(3);
    expect(costs()).toEqual({ reads: 2, lists: 2 });
  });
});

describe("without waiting", () => {
  /** A reader that knows manifest 2, of a store that tells at once that a blob is absent. */
  async function informed(stored: number) {
    const { quiet, manifests, clock } = await world(3, stored);
    const reader = new ManifestReader(quiet, identityOf(keys), clock);
    const at = { wall: clock.wall(), steady: clock.steady() };
    reader.remember({ sealed: manifests[1], at });
    return { reader, clock, quiet };
  }

  test("the known manifest is the newest now if there is none after it", async () => {
    const { reader, clock } = await informed(2);
    for (const ms of [0, 5]) {
      clock.advance(ms);
      const seen = reader.newestNow();
      expect(seen && versionOf(seen)).toBe(2);
      expect(reader.known).toBe(seen);
      expect(seen?.at).toEqual({ wall: clock.wall(), steady: ms });
    }
  });

  test("one that is not known has to be read", async () => {
    const { reader } = await informed(3);
    expect(reader.newestNow()).toBeUndefined();
    expect(versionOf(await reader.newest())).toBe(3);
    expect(reader.newestNow()?.sealed.manifest.version).toBe(3);
  });

  test("memory that is old has to be seen in storage", async () => {
    const { reader, clock, quiet } = await informed(2);
    clock.advance(freshMs);
    await quiet.delete([name(1), name(2)]);
    expect(reader.newestNow()).toBeUndefined();
    await expect(reader.newest()).rejects.toMatchObject({ code: "missing_object" });
  });

  test("nothing is the newest without memory, for a store that cannot tell, or before anchors are asked", async () => {
    const { quiet, store, manifests, clock } = await world(2);
    const at = { wall: clock.wall(), steady: clock.steady() };
    const history = new AnchoredHistory(
      identityOf(keys),
      new AnchorStore(quiet, identityOf(keys)),
      undefined,
    );
    const readers = [
      new ManifestReader(quiet, identityOf(keys), clock),
      new ManifestReader(store, identityOf(keys), clock),
      new ManifestReader(quiet, identityOf(keys), clock, history),
    ];
    for (const [i, reader] of readers.entries()) {
      if (i > 0) reader.remember({ sealed: manifests[1], at });
      expect(reader.newestNow()).toBeUndefined();
    }
  });
});
