/** Blobs in the memory of this process: for tests, benchmarks and temporary data. */

import { withAbsenceCheck } from "./absence.js";
import type { BlobStore } from "./blob-store.js";
import { joinBytes } from "../async/event-loop.js";
import { own } from "../checks/value-kinds.js";
import { checkKey, checkPrefix } from "./key.js";

export function createMemoryStore(): BlobStore {
  const blobs = new Map<string, Uint8Array>();
  const store: BlobStore = {
    async read(key, range) {
      checkKey(key);
      const blob = blobs.get(key);
      if (blob === undefined) return null;
      return joinBytes([blob.subarray(range.offset, range.offset + range.length)]);
    },
    async create(key, bytes) {
      checkKey(key);
      if (blobs.has(key)) return false;
      const copy = await joinBytes([bytes]);
      // Another create of this key may have finished meanwhile.
      if (blobs.has(key)) return false;
      blobs.set(key, copy);
      return true;
    },
    async list(prefix, options = {}) {
      checkPrefix(prefix);
      const { limit, after = "" } = own(options);
      const keys = [...blobs.keys()].filter((key) => key.startsWith(prefix) && key > after);
      // Keys are ASCII, so string order is byte order.
      return keys.sort().slice(0, limit);
    },
    async delete(keys) {
      keys.forEach(checkKey);
      for (const key of keys) blobs.delete(key);
    },
    async close() {
      blobs.clear();
    },
  };
  return withAbsenceCheck(store, (key) => !blobs.has(key));
}
