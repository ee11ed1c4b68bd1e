/**
 * Whether a blob is absent, found out without waiting. Every query asks whether there is a newer manifest, and memory and the local disk
 * answer in about a microsecond, of which a promise would take several.
 *
 * No method of the contract: a store that wraps another one, and may answer its reads otherwise, must not inherit it.
 */

import type { BlobStore } from "./blob-store.js";

/** Returns false if only a read can tell. */
type AbsenceCheck = (key: string) => boolean;

const checks = new WeakMap<BlobStore, AbsenceCheck>();

/** Returns `store`, which answers `isAbsent` by `check` from now on: true only if a read that began now would give null. */
export function withAbsenceCheck(store: BlobStore, check: AbsenceCheck): BlobStore {
  checks.set(store, check);
  return store;
}

/** The check of a store, if it has one. */
export function absenceCheckOf(store: BlobStore): AbsenceCheck | undefined {
  return checks.get(store);
}

/** Lets `store` answer by the check of the store that it passes every call on to, if that has one. `keyOf`: the key of a key there. */
export function withAbsenceCheckOf(
  store: BlobStore,
  inner: BlobStore,
  keyOf: (key: string) => string = (key) => key,
): BlobStore {
  const check = checks.get(inner);
  return check === undefined ? store : withAbsenceCheck(store, (key) => check(keyOf(key)));
}
