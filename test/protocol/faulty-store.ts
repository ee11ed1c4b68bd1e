/** A store in which one call fails, like for a process that crashes or loses its connection. */

import { SealdexError } from "../../src/errors.js";
import type { BlobStore } from "../../src/storage/blob-store.js";

/**
 * `dies before`, `dies after`: the process ends just before, or just after, the call has its effect, so no later call has
 * any. `fails`, `loses the acknowledgement`: the call alone goes wrong, without effect or with it.
 */
export const mishaps = ["dies before", "dies after", "fails", "loses the acknowledgement"] as const;
export type Mishap = (typeof mishaps)[number];

export interface FaultyStore extends BlobStore {
  /** The call that failed; undefined: none. */
  readonly struck: string | undefined;
  /** Calls so far: of a deletion each key is one, since they are deleted one after the other. */
  readonly calls: number;
}

/** The call of this number, from 0, goes wrong. */
export function faultyStore(store: BlobStore, number: number, mishap: Mishap): FaultyStore {
  let calls = 0;
  let dead = false;
  let struck: string | undefined;
  const lost = (name: string) => new SealdexError("storage_unavailable", `the store was lost at ${name}`);

  async function call<T>(name: string, effect: () => Promise<T>): Promise<T> {
    if (dead) throw lost(name);
    if (calls++ !== number) return effect();
    struck = name;
    dead = mishap.startsWith("dies");
    if (mishap !== "dies before" && mishap !== "fails") await effect();
    throw lost(name);
  }

  return {
    get struck() {
      return struck;
    },
    get calls() {
      return calls;
    },
    read: (key, range) => call(`read ${key}`, () => store.read(key, range)),
    create: (key, bytes) => call(`create ${key}`, () => store.create(key, bytes)),
    list: (prefix, options) => call(`list ${prefix}`, () => store.list(prefix, options)),
    async delete(keys) {
      for (const key of keys) await call(`delete ${key}`, () => store.delete([key]));
    },
    async close() {},
  };
}

/** A store whose calls go to another while it is open: to one that goes wrong, and back. */
export interface SwitchedStore extends BlobStore {
  target: BlobStore;
}

export function switchedStore(target: BlobStore): SwitchedStore {
  const store: SwitchedStore = {
    target,
    read: (...args) => store.target.read(...args),
    create: (...args) => store.target.create(...args),
    list: (...args) => store.target.list(...args),
    delete: (...args) => store.target.delete(...args),
    async close() {},
  };
  return store;
}
