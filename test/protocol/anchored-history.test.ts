/** Proving that manifests descend from anchors: the caller's own and the one that an anchor location keeps. */

import { describe, expect, test } from "vitest";
import type { Anchor } from "../../src/state/commit/anchor.js";
import { AnchoredHistory, AnchorStore } from "../../src/state/commit/anchored-history.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import type { SealedManifest } from "../../src/state/commit/stored-manifest.js";
import { chain, identityOf, indexId, keysUpTo, otherId, sealAfter } from "./commit-world.js";

const keys = keysUpTo(1);
const identity = identityOf(keys);

function anchorOf({ manifest, digest }: SealedManifest): Anchor {
  return { indexId, version: manifest.version, digest };
}

/** A history over these manifests, in which some are gone. */
function world(length: number, expected?: (manifests: readonly SealedManifest[]) => Anchor) {
  const manifests = chain(length, keys);
  const history = new AnchoredHistory(identity, undefined, expected?.(manifests));
  const reads: number[] = [];
  let together = 0;
  let mostTogether = 0;
  const read = async (version: number) => {
    reads.push(version);
    mostTogether = Math.max(mostTogether, ++together);
    await Promise.resolve();
    together--;
    return manifests[version - 1] ?? null;
  };
  const gone = async () => null;
  const newest = manifests[length - 1];
  return { manifests, newest, history, reads, read, gone, mostTogether: () => mostTogether };
}

const rolledBack = (what: string) => ({
  code: "rollback_detected",
  message: `index "borders": ${what}`,
});

/** The same as `manifest`, of another history. */
function forkOf(manifests: readonly SealedManifest[], version: number): SealedManifest {
  return sealAfter(manifests[version - 2], keys, { dimension: 5 });
}

test("the caller's anchor has to be of this index", () => {
  const [first] = chain(1, keys);
  const other = { ...anchorOf(first), indexId: otherId };
  expect(() => new AnchoredHistory(identity, undefined, other)).toThrowError(
    expect.objectContaining(rolledBack("the anchor is of another index")),
  );
});

describe("the newest anchor", () => {
  test.each([
    [undefined, undefined, undefined],
    [3, undefined, 3],
    [undefined, 3, 3],
    [3, 5, 5],
    [5, 3, 5],
  ])("of the caller's %j and the kept %j is %j", async (own, kept, newest) => {
    const manifests = chain(5, keys);
    const store = new AnchorStore(createMemoryStore(), identity);
    const expected = own === undefined ? undefined : anchorOf(manifests[own - 1]);
    const history = new AnchoredHistory(identity, store, expected);
    if (kept !== undefined) await history.committed(manifests[kept - 1]);
    expect((await history.anchor())?.version).toBe(newest);
  });

  test("is none for an index that was marked as deleted", async () => {
    const { newest } = world(1);
    const history = new AnchoredHistory(identity, new AnchorStore(createMemoryStore(), identity), undefined);
    await history.committed(newest);
    await history.end();
    await expect(history.anchor()).rejects.toMatchObject(rolledBack("it was deleted"));
  });

  test("is the caller's alone without an anchor location, which nothing is asked of", async () => {
    const { history, newest } = world(3, (manifests) => anchorOf(manifests[1]));
    await history.committed(newest);
    await history.end();
    expect(await history.anchor()).toMatchObject({ version: 2 });
  });
});

describe("without anchors", () => {
  test("any first state is accepted, unread, and later ones have to descend from it", async () => {
    const { manifests, history, read, reads } = world(9);
    await history.check(manifests[4], undefined, read);
    expect(reads).toEqual([]);
    await history.check(manifests[8], undefined, read);
    expect(reads).toEqual([6, 7, 8]);
    const fork = forkOf(manifests, 9);
    await expect(history.check(fork, undefined, read)).rejects.toMatchObject(
      rolledBack("version 9 belongs to another history"),
    );
    const after = sealAfter(fork, keys);
    await expect(history.check(after, undefined, read)).rejects.toMatchObject(
      rolledBack("version 10 belongs to another history"),
    );
  });

  test("a successor of a checked manifest is proven without reading", async () => {
    const { manifests, history, read, reads } = world(3);
    for (const manifest of manifests) await history.check(manifest, undefined, read);
    await history.check(manifests[2], undefined, read);
    expect(reads).toEqual([]);
  });
});

describe("an anchor", () => {
  test("is proven by reading from it to the newest, 16 manifests at a time", async () => {
    const { manifests, newest, history, read, reads, mostTogether } = world(60);
    await history.check(newest, anchorOf(manifests[9]), read);
    expect(reads).toEqual(Array.from({ length: 50 }, (_, i) => 10 + i));
    expect(mostTogether()).toBe(16);
  });

  test("of the newest state itself needs no reading", async () => {
    const { newest, history, gone } = world(3);
    await history.check(newest, anchorOf(newest), gone);
  });

  test("that is newer than the manifests of storage is a rollback", async () => {
    const { manifests, newest, history, read } = world(3);
    await expect(history.check(manifests[1], anchorOf(newest), read)).rejects.toMatchObject(
      rolledBack("storage shows version 2, but version 3 is anchored"),
    );
  });

  test("of another history is refused, wherever that branched off", async () => {
    for (const version of [2, 3, 19, 20]) {
      const { manifests, newest, history, read } = world(20);
      const fork = anchorOf(forkOf(manifests, version));
      await expect(history.check(newest, fork, read)).rejects.toMatchObject(
        rolledBack(`version ${version} belongs to another history`),
      );
    }
  });

  test("of another history is refused once this one is proven, without reading", async () => {
    const { manifests, newest, history, read, reads } = world(5);
    await history.check(newest, anchorOf(manifests[1]), read);
    reads.length = 0;
    await expect(history.check(newest, anchorOf(forkOf(manifests, 3)), read)).rejects.toMatchObject(
      rolledBack("version 3 belongs to another history"),
    );
    expect(reads).toEqual([]);
  });

  test("is not proven by manifests that do not follow each other", async () => {
    for (const replaced of [3, 4, 9]) {
      const { manifests, newest, history, read } = world(10);
      const fork = forkOf(manifests, replaced);
      const mixed = async (version: number) => (version === replaced ? fork : read(version));
      await expect(history.check(newest, anchorOf(manifests[1]), mixed)).rejects.toMatchObject(
        rolledBack(`version ${replaced + 1} belongs to another history`),
      );
    }
  });

  test("is not proven if a manifest is missing that cannot have been deleted", async () => {
    const { manifests, newest, history, read } = world(6);
    const withGap = async (version: number) => (version === 4 ? null : read(version));
    await expect(history.check(newest, anchorOf(manifests[1]), withGap)).rejects.toMatchObject(
      rolledBack("its history has a gap"),
    );
  });
});

describe("below the history watermark", () => {
  /** As a history of 40 manifests, of which those below 30 may be gone. */
  function collected(expected?: (manifests: readonly SealedManifest[]) => Anchor) {
    const one = world(39, expected);
    const history = { floor: 30, next: 39, since: 0 };
    const newest = sealAfter(one.newest, keys, { history });
    return { ...one, newest };
  }

  test("an anchor counts by its version if its manifest is gone, and only anchored manifests are asked for", async () => {
    const { manifests, newest, history, read, reads } = collected();
    const kept = async (version: number) => {
      const manifest = await read(version);
      return version < 30 ? null : manifest;
    };
    await history.check(newest, anchorOf(forkOf(manifests, 4)), kept);
    expect(reads).toEqual([4, ...Array.from({ length: 10 }, (_, i) => 30 + i)]);
  });

  test("an anchor of another history is refused while its manifest is there", async () => {
    for (const version of [4, 29]) {
      const { manifests, newest, history, read } = collected();
      await expect(history.check(newest, anchorOf(forkOf(manifests, version)), read)).rejects.toMatchObject(
        rolledBack(`version ${version} belongs to another history`),
      );
    }
  });

  test("the first manifest that cannot be gone has to be there", async () => {
    const { manifests, newest, history, read } = collected();
    const withGap = async (version: number) => (version === 30 ? null : read(version));
    await expect(history.check(newest, anchorOf(manifests[3]), withGap)).rejects.toMatchObject(
      rolledBack("its history has a gap"),
    );
  });

  test("a process that slept continues at the watermark", async () => {
    const { manifests, newest, history, read, reads } = collected();
    await history.check(manifests[4], undefined, read);
    await history.check(newest, anchorOf(manifests[19]), read);
    expect(reads).toEqual([20, ...Array.from({ length: 10 }, (_, i) => 30 + i)]);
    const fork = anchorOf(forkOf(manifests, 5));
    await expect(history.check(newest, fork, read)).rejects.toMatchObject(
      rolledBack("version 5 belongs to another history"),
    );
  });
});

describe("the caller's anchor and the kept one", () => {
  const third = (manifests: readonly SealedManifest[]) => anchorOf(manifests[2]);

  test("are both proven, from the older on", async () => {
    const { manifests, newest, history, read, reads } = world(9, third);
    await history.check(newest, anchorOf(manifests[5]), read);
    expect(reads).toEqual([3, 4, 5, 6, 7, 8]);
  });

  test.each([3, 6, 9])("are refused if they are of different histories, with %i kept", async (kept) => {
    const { manifests, newest, history, read } = world(9, (one) => anchorOf(forkOf(one, 3)));
    await expect(history.check(newest, anchorOf(manifests[kept - 1]), read)).rejects.toMatchObject(
      rolledBack("version 3 belongs to another history"),
    );
  });

  test("are refused if storage shows less than either", async () => {
    const { manifests, history, read } = world(9, third);
    await expect(history.check(manifests[1], anchorOf(manifests[0]), read)).rejects.toMatchObject(
      rolledBack("storage shows version 2, but version 3 is anchored"),
    );
    await expect(history.check(manifests[3], anchorOf(manifests[4]), read)).rejects.toMatchObject(
      rolledBack("storage shows version 4, but version 5 is anchored"),
    );
  });
});

test("the digests of the last 256 versions are remembered", async () => {
  const { manifests, history, read, gone } = world(300);
  for (const manifest of manifests) await history.check(manifest, undefined, gone);
  const newest = manifests[299];
  for (const version of [45, 46, 299]) {
    await expect(history.check(newest, anchorOf(forkOf(manifests, version)), read)).rejects.toMatchObject(
      rolledBack(`version ${version} belongs to another history`),
    );
  }
  // Older manifests are followed by all of these.
  await history.check(newest, anchorOf(forkOf(manifests, 44)), gone);
});

test("a manifest that says that there are more before it than can be counted ends the search at the first gap", async () => {
  const { manifests, history, read, reads } = world(3, ([first]) => anchorOf(first));
  const far = sealAfter(manifests[2], keys, { version: 2 ** 48 });
  await expect(history.check(far, undefined, read)).rejects.toMatchObject(
    rolledBack("its history has a gap"),
  );
  expect(reads.length).toBeLessThan(100);
});
