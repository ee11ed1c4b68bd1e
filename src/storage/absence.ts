/**
 * Checks synchronously whether a blob is absent. Every query checks for a newer manifest, and
 * memory and the local disk answer in about a microsecond; a promise would cost more than the call
 * itself.
 *
 * This is not part of the storage contract: a store that wraps another one, and may answer its
 * reads differently, must not inherit it.
 */

import type { BlobStore } from "./blob-store.js";

/** Returns false if only a read can tell. */
type AbsenceCheck = (key: string) => boolean;

const checks = new WeakMap<BlobStore, AbsenceCheck>();

/**
 * Lets `isAbsent` use `check` for `store`. True only if a read that starts now would return null.
 */
export function withAbsenceCheck(store: BlobStore, check: AbsenceCheck): BlobStore {
  checks.set(store, check);
  return store;
}

export function absenceCheckOf(store: BlobStore): AbsenceCheck | undefined {
  return checks.get(store);
}

/**
 * Forwards the check of the store that `store` delegates every call to. `keyOf` maps a key of
 * `store` to the key in that store.
 */
export function withAbsenceCheckOf(
  store: BlobStore,
  inner: BlobStore,
  keyOf: (key: string) => string = (key) => key,
): BlobStore {
  const check = checks.get(inner);
  return check === undefined ? store : withAbsenceCheck(store, (key) => check(keyOf(key)));
}
