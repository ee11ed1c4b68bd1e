/** Commits of an index that has an anchor location. */

import { describe, expect, test } from "vitest";
import { AnchoredHistory, AnchorStore } from "../../src/state/commit/anchored-history.js";
import { ManifestLog } from "../../src/state/commit/manifest-log.js";
import type { SealedManifest } from "../../src/state/commit/stored-manifest.js";
import { SealdexError } from "../../src/errors.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import {
  identityOf,
  keysUpTo,
  nameOf,
  newLog,
  recordingStore,
  same,
  sealAfter,
  storeAll,
} from "./commit-world.js";
import { StandingClock } from "./standing-clock.js";
import { whole } from "../ranges.js";

describe("with anchors", () => {
  async function anchored() {
    const one = await newLog();
    const anchors = recordingStore();
    const keep = () => new AnchorStore(anchors.store, identityOf(keysUpTo(1)));
    const open = (store: BlobStore = one.quiet) =>
      new ManifestLog(
        store,
        identityOf(keysUpTo(1)),
        one.clock,
        new AnchoredHistory(identityOf(keysUpTo(1)), keep(), undefined),
      );
    return { ...one, open, anchors, keep };
  }

  test("the beginning is anchored once it is known, and every commit before it is answered", async () => {
    const { open, keep, quiet } = await anchored();
    const log = open();
    await log.anchorBeginning();
    expect(await keep().newest()).toBeUndefined();
    await log.newest();
    await log.anchorBeginning();
    expect((await keep().newest())?.version).toBe(1);
    await log.commit(same);
    expect((await keep().newest())?.version).toBe(2);
    await log.end();
    await expect(keep().newest()).rejects.toMatchObject({ code: "rollback_detected" });
    const plain = new ManifestLog(quiet, identityOf(keysUpTo(1)), new StandingClock());
    await plain.newest();
    await plain.anchorBeginning();
    await plain.end();
  });

  test("a commit that its writer did not anchor is anchored by another", async () => {
    const { open, keep, quiet } = await anchored();
    const log = open();
    await log.newest();
    const plain = new ManifestLog(quiet, identityOf(keysUpTo(1)), new StandingClock());
    await plain.commit(same);
    await plain.anchorNewest();
    expect(await keep().newest()).toBeUndefined();
    await log.anchorNewest();
    expect((await keep().newest())?.version).toBe(2);
  });

  test("a commit that cannot be anchored is not answered, nor remembered", async () => {
    const { open, anchors } = await anchored();
    const log = open();
    await log.newest();
    anchors.before.create = async () => {
      throw new SealdexError("storage_unavailable", "the anchor location is gone");
    };
    await expect(log.commit(same)).rejects.toMatchObject({ message: "the anchor location is gone" });
    expect(log.knownVersion).toBe(1);
  });

  test("a commit of a process that was shown an old state is refused once a newer one is anchored", async () => {
    const { open, quiet, keep } = await anchored();
    const log = open();
    await log.newest();
    // The others continue elsewhere, from here.
    const elsewhere = recordingStore();
    for (const key of await quiet.list(""))
      await elsewhere.quiet.create(key, (await quiet.read(key, whole)) ?? Buffer.of());
    const others = chainAfter(await open(elsewhere.quiet).newestSealed(), 3);
    const { manifest, digest } = others[2];
    await keep().advance({ version: manifest.version, digest }, 1);
    await expect(log.commit(same)).rejects.toMatchObject({
      code: "rollback_detected",
      message: 'index "borders": storage shows version 2, but version 4 is anchored',
    });
  });

  test("a commit whose anchor is lost right after it was kept is answered, and the next one protects again", async () => {
    const { open, anchors, keep, quiet } = await anchored();
    const log = open();
    await log.newest();
    const { list } = anchors.store;
    // The anchor location is emptied after the anchor was kept, and before the commit requests a newer one.
    anchors.before.create = async () => {
      anchors.before.create = async () => {};
      anchors.store.list = async (prefix, options) => {
        anchors.store.list = list;
        await anchors.quiet.delete(await anchors.quiet.list(""));
        return list(prefix, options);
      };
    };
    expect((await log.commit(same))?.version).toBe(2);
    expect(log.knownVersion).toBe(2);
    expect(await keep().newest()).toBeUndefined();
    expect((await log.commit(same))?.version).toBe(3);
    expect((await keep().newest())?.version).toBe(3);
    await quiet.delete([nameOf(3)]);
    await expect(open().newest()).rejects.toMatchObject({ code: "rollback_detected" });
  });

  test("a commit that others have continued since is answered", async () => {
    const { open, quiet, anchors, keep, reads, store, reset } = await anchored();
    const log = open(store);
    await log.newest();
    anchors.before.create = async () => {
      anchors.before.create = async () => {};
      const [next] = chainAfter(
        await new ManifestLog(quiet, identityOf(keysUpTo(1)), new StandingClock()).newestSealed(),
        1,
      );
      await storeAll(quiet, [next]);
      await keep().advance({ version: 3, digest: next.digest }, 1);
    };
    reset();
    expect((await log.commit(same))?.version).toBe(2);
    expect(reads.length).toBeGreaterThan(0);
    expect(log.knownVersion).toBe(3);
    reset();
    await log.commit(same);
    await log.commit(same);
    // Alone, a commit looks for no other.
    reset();
    await log.commit(same);
    expect(reads).toEqual([nameOf(log.knownVersion - 1)]);
  });
});

function chainAfter(before: SealedManifest, length: number): SealedManifest[] {
  const keys = keysUpTo(1);
  const manifests: SealedManifest[] = [];
  while (manifests.length < length) {
    manifests.push(sealAfter(manifests[manifests.length - 1] ?? before, keys, { dimension: 9 }));
  }
  return manifests;
}
