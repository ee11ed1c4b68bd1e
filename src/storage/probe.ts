/**
 * Checks whether an object service gives the guarantees of an index: exactly one of concurrent
 * creates wins, and written data can be read at once. Many compatible services do not, and an index
 * would silently lose data there. The probe runs before the first write, and a location that fails
 * it is never written to.
 */

import { randomBytes } from "node:crypto";
import { SealdexError } from "../errors.js";
import { backoffMs, pause } from "../async/backoff.js";
import type { BlobStore } from "./blob-store.js";
import { isTransientServiceError } from "./object-store.js";

const deletesMax = 10;
const firstPauseMs = 50;
const pauseMsMax = 1000;
/** Racing creates. On a service that checks before it writes, some pair of them collides. */
const creates = 6;
const blobBytes = 64;
/** One more byte shows whether a blob is longer. */
const whole = { offset: 0, length: blobBytes + 1 };

/**
 * Wraps a store so that its first `create` probes the location: about 20 small requests in six
 * round trips per opened store, whose blobs are deleted again. A location that fails is refused
 * with `not_supported` from then on; an interrupted probe is repeated by the next `create`. Reading
 * needs neither the probe nor write access. `retried` is the same store with retries per operation,
 * so that an overloaded service can be probed.
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
 * Writes, reads, lists and deletes two small blobs. `title` names the location in messages. Throws
 * `not_supported` for a location that cannot hold an index safely, or the store's own errors.
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
  // Read before it exists: a cache that remembers this result would hide the blob later.
  if ((await store.read(key, whole)) !== null) throw refuse("it returned an object that was never written");
  try {
    const results = await Promise.all(contents.map((bytes) => store.create(key, bytes)));
    const winners = contents.filter((_, i) => results[i]);
    if (winners.length !== 1) {
      throw refuse(
        `of ${creates} concurrent creates of one object ${winners.length} won, and exactly one must; ` +
          "it must refuse a conditional write if the object exists",
      );
    }
    const isThere = async () => {
      const read = await store.read(key, whole);
      return read !== null && Buffer.compare(read, winners[0]) === 0;
    };
    if (!(await isThere())) throw refuse("a new object could not be read back");
    const [isCreatedTwice, , part, listed] = await Promise.all([
      store.create(key, contents[0]),
      store.create(later, contents[1]),
      store.read(key, { offset: 10, length: 20 }),
      store.list(`${prefix}/`, { limit: 1 }),
    ]);
    if (isCreatedTwice) throw refuse("an object could be created twice");
    if (!(await isThere())) throw refuse("an existing object changed");
    if (part === null || Buffer.compare(part, winners[0].subarray(10, 30)) !== 0) {
      throw refuse("a read of a range of bytes returned wrong bytes");
    }
    const rest = await store.list(`${prefix}/`, { after: key });
    if (listed.join() !== key || rest.join() !== later) {
      throw refuse("a list lacks a new object, or is out of order");
    }
  } catch (error) {
    // The first failure is more useful than one of the cleanup. Leftovers are small and harmless.
    await store.delete(keys).catch(() => undefined);
    throw error;
  }
  for (const own of keys) await deleteOwn(store, own);
  if ((await store.read(key, whole)) !== null) throw refuse("a deleted object could still be read");
}

/** Deletes a blob of the probe, with retries: no other writer creates its key. */
async function deleteOwn(store: BlobStore, key: string): Promise<void> {
  for (let failed = 0; ; failed++) {
    try {
      return await store.delete([key]);
    } catch (error) {
      if (failed === deletesMax || !isTransientServiceError(error)) throw error;
      await pause(backoffMs(failed, firstPauseMs, pauseMsMax), undefined);
    }
  }
}
