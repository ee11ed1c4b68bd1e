/**
 * Collects garbage when a location is full. Otherwise a location full of garbage could not be
 * emptied, since deleting items writes.
 */

import { SealdexError } from "../errors.js";
import { withAbsenceCheckOf } from "./absence.js";
import type { BlobStore } from "./blob-store.js";

/** Codes of a full file system, Redis, PostgreSQL or object service. */
const full = /^(ENOSPC|EDQUOT|OOM|53100|QuotaExceeded|InsufficientStorage|XMinioStorageFull)$/;

/** Repeats creates of `store` once after `makeRoom` if the location was full. */
export function withRoom(store: BlobStore, makeRoom: () => Promise<void>): BlobStore {
  let making: Promise<void> | undefined;

  async function makeRoomOnce(): Promise<void> {
    making ??= makeRoom().finally(() => {
      making = undefined;
    });
    // If collection fails, the second create reports the problem.
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
