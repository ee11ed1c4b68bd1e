/**
 * Whether an object service keeps what an index rests on: that of concurrent creates exactly one wins, and that what was
 * written is read at once. Services that speak the protocol and keep neither are common, and on them an index would
 * lose data without a sign. So this is tried out before a location is first written to, and a location that fails is
 * never written to.
 */

import { randomBytes } from "node:crypto";
import { SealdexError } from "../errors.js";
import { backoffMs, pause } from "../pause.js";
import type { BlobStore } from "./blob-store.js";
import { isTransient } from "./object-store.js";

const deletesMax = 10;
const firstPauseMs = 50;
const pauseMsMax = 1000;
/** Creates that race: on a service that looks first and writes then, some pair of so many meets. */
const creates = 6;
const blobBytes = 64;
/** And one byte more, to see that nothing follows. */
const whole = { offset: 0, length: blobBytes + 1 };

/**
 * The same store, whose first `create` probes the location. About 20 small requests in six round trips, once for each
 * store opened; the blobs are deleted again. A location that fails is refused with `not_supported`, always; a probe that
 * could not be finished is repeated by the next `create`. Reading needs no probe, nor the right to write. `retried`: the same store, whose
 * operations are tried again each, so that a service that refuses half of them can be probed at all.
 */
export function probedBeforeWriting(store: BlobStore, title: string, retried = store): BlobStore {
  let probed: Promise<void> | undefined;

  function probeOnce(): Promise<void> {
    probed ??= probe(retried, title).catch((error: unknown) => {
      if (!(error instanceof SealdexError && error.code === "not_supported")) probed = undefined;
      throw error;
    });
    return probed;
  }

  return {
    ...store,
    async create(key, bytes, options) {
      await probeOnce();
      return store.create(key, bytes, options);
    },
  };
}

/**
 * Writes, reads, lists and deletes two small blobs. `title`: of the location, for messages. Throws `not_supported` for a
 * location that cannot hold an index safely, or what the store throws.
 */
export async function probe(store: BlobStore, title: string): Promise<void> {
  const prefix = `probe/${randomBytes(16).toString("hex")}`;
  const keys = [`${prefix}/a`, `${prefix}/b`];
  const [key, later] = keys;
  const refuse = (finding: string) =>
    new SealdexError(
      "not_supported",
      `${title}: this service cannot hold an index safely, and nothing was written: ${finding}`,
    );
  const contents = Array.from({ length: creates }, () => randomBytes(blobBytes));
  // Read before it exists: a cache that remembers the answer would hide it later.
  if ((await store.read(key, whole)) !== null) throw refuse("it has what was never written");
  try {
    const results = await Promise.all(contents.map((bytes) => store.create(key, bytes)));
    const winners = contents.filter((_, i) => results[i]);
    if (winners.length !== 1) {
      throw refuse(
        `of ${creates} concurrent creates of one object ${winners.length} won, and exactly one must; ` +
          "it has to honour the condition that a write is only done if there is no object yet",
      );
    }
    const isThere = async () => {
      const read = await store.read(key, whole);
      return read !== null && Buffer.compare(read, winners[0]) === 0;
    };
    if (!(await isThere())) throw refuse("what was just created could not be read back");
    const [isCreatedTwice, , part, listed] = await Promise.all([
      store.create(key, contents[0]),
      store.create(later, contents[1]),
      store.read(key, { offset: 10, length: 20 }),
      store.list(`${prefix}/`, { limit: 1 }),
    ]);
    if (isCreatedTwice) throw refuse("an object could be created twice");
    if (!(await isThere())) throw refuse("an object that was there changed");
    if (part === null || Buffer.compare(part, winners[0].subarray(10, 30)) !== 0) {
      throw refuse("a read of a range of bytes returned wrong bytes");
    }
    const rest = await store.list(`${prefix}/`, { after: key });
    if (listed.join() !== key || rest.join() !== later) {
      throw refuse("a list lacks what was just created, or is out of order");
    }
  } catch (error) {
    // The first failure says more than one to tidy up; what is left then is small and harms nothing.
    await store.delete(keys).catch(() => undefined);
    throw error;
  }
  for (const own of keys) await deleteOwn(store, own);
  if ((await store.read(key, whole)) !== null) throw refuse("what was deleted could still be read");
}

/** Deletes a blob of the probe, again if that failed: nobody else creates one of its key. */
async function deleteOwn(store: BlobStore, key: string): Promise<void> {
  for (let failed = 0; ; failed++) {
    try {
      return await store.delete([key]);
    } catch (error) {
      if (failed === deletesMax || !isTransient(error)) throw error;
      await pause(backoffMs(failed, firstPauseMs, pauseMsMax), undefined);
    }
  }
}
