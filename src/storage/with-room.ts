/** A store that makes room when its location is full: what is full of garbage could not be emptied otherwise, since deleting items writes. */

import { SealdexError } from "../errors.js";
import { withAbsenceCheckOf } from "./absence.js";
import type { BlobStore } from "./blob-store.js";

/** What file systems, Redis, PostgreSQL and object services call it. */
const full = /^(ENOSPC|EDQUOT|OOM|53100|QuotaExceeded|InsufficientStorage|XMinioStorageFull)$/;

/** `store`, whose creates that found the location full are made once more after `makeRoom`. */
export function withRoom(store: BlobStore, makeRoom: () => Promise<void>): BlobStore {
  let making: Promise<void> | undefined;

  async function makeRoomOnce(): Promise<void> {
    making ??= makeRoom().finally(() => {
      making = undefined;
    });
    // Whatever it could not do, the second create says what is wrong.
    await making.catch(() => undefined);
  }

  const roomy: BlobStore = {
    ...store,
    async create(key, bytes, options) {
      try {
        return await store.create(key, bytes, options);
      } catch (error) {
        if (!isFull(error)) throw error;
        await makeRoomOnce();
        return store.create(key, bytes, options);
      }
    },
  };
  return withAbsenceCheckOf(roomy, store);
}

function isFull(error: unknown): boolean {
  if (!(error instanceof SealdexError) || error.code !== "storage_unavailable") return false;
  const { cause } = error;
  return typeof cause === "object" && cause !== null && "code" in cause && full.test(String(cause.code));
}
