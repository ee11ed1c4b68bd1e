/** Commits of a writer that slept until their predecessors were deleted. */

import { describe, expect, test } from "vitest";
import { ManifestLog } from "../../src/state/commit/manifest-log.js";
import { openManifest, type SealedManifest } from "../../src/state/commit/stored-manifest.js";
import { historyMs } from "../../src/state/commit/retention.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import {
  chain,
  identityOf,
  indexId,
  keysUpTo,
  nameOf,
  newLog,
  same,
  sealAfter,
  storeAll,
} from "./commit-world.js";

const freshMs = historyMs / 4;

describe("a commit of a writer that slept until its predecessors were deleted", () => {
  /**
   * A writer that knows version 2 of 9, and sleeps before or after it creates version 3. When it wakes, versions 1 and 2 are gone
   * and `meanwhile` has run; `own` is the manifest that the writer stored, if it did.
   */
  async function slept(
    when: "before" | "after",
    meanwhile: (store: BlobStore, own: SealedManifest, others: readonly SealedManifest[]) => Promise<unknown>,
  ) {
    const { quiet, clock } = await newLog();
    const keys = keysUpTo(1);
    const others = chain(9, keys, 3);
    await quiet.delete([nameOf(1)]);
    await storeAll(quiet, others.slice(0, 2));
    let isAwake = false;
    const sleep = async (bytes: Uint8Array) => {
      if (isAwake) return;
      isAwake = true;
      clock.advance(freshMs);
      await quiet.delete([nameOf(1), nameOf(2)]);
      await meanwhile(quiet, openManifest(keys, indexId, 3, bytes), others);
    };
    const sleepy: BlobStore = {
      ...quiet,
      async create(key, bytes) {
        if (when === "before") await sleep(bytes);
        const created = await quiet.create(key, bytes);
        if (when === "after") await sleep(bytes);
        return created;
      },
    };
    const log = new ManifestLog(sleepy, identityOf(keys), clock);
    await log.newest();
    const committed = log.commit((latest) => ({ ...latest, dimension: 2 }));
    return { log, committed, quiet };
  }

  test("counts nothing if the sequence continued from another one at its version", async () => {
    const { committed } = await slept("before", (store, _, others) => storeAll(store, others.slice(3, 6)));
    expect(await committed).toMatchObject({ version: 7, dimension: 2 });
  });

  test("counts if the next one names it", async () => {
    const keys = keysUpTo(1);
    const { committed } = await slept("after", (store, own) => storeAll(store, [sealAfter(own, keys)]));
    expect(await committed).toMatchObject({ version: 3, dimension: 2 });
  });

  test("counts nothing if it is alone, before those that continued", async () => {
    const { committed, quiet } = await slept("before", (store, _, others) =>
      storeAll(store, others.slice(5, 8)),
    );
    expect(await committed).toMatchObject({ version: 9, dimension: 2 });
    expect(await quiet.list("")).toEqual([9, 8, 7, 6, 3].map(nameOf));
  });

  test.each<[string, (store: BlobStore) => Promise<void>]>([
    ["stands as the newest", async () => {}],
    ["is gone as well", (store) => store.delete([nameOf(3)])],
  ])("is of unknown outcome if it %s", async (_, then) => {
    const { log, committed, quiet } = await slept("after", then);
    await expect(committed).rejects.toMatchObject({
      code: "storage_unavailable",
      message: 'index "borders": the write was delayed for so long that its outcome cannot be determined',
    });
    // It does not delay the next write.
    await storeAll(quiet, chain(6, keysUpTo(1), 3).slice(5));
    await expect(log.commit(same)).resolves.toMatchObject({ version: 7 });
  });
});
