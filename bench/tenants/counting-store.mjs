// A store in memory that counts requests and bytes, and finds a prefix among millions of keys.

export class CountingStore {
  /** Stored now. */
  bytes = 0;
  #requests = 0;
  #blobs = new Map();
  /** Keys by their folder and those above it. */
  #folders = new Map();

  /** What `work` asked of the store, and stored. */
  async during(work) {
    const [requests, bytes, startedAt] = [this.#requests, this.bytes, performance.now()];
    await work();
    return {
      requests: this.#requests - requests,
      bytes: this.bytes - bytes,
      ms: performance.now() - startedAt,
    };
  }

  store = {
    read: async (key, range) => {
      this.#requests++;
      const blob = this.#blobs.get(key) ?? null;
      return blob && range ? blob.subarray(range.offset, range.offset + range.length) : blob;
    },
    create: async (key, bytes) => {
      this.#requests++;
      if (this.#blobs.has(key)) return false;
      this.#blobs.set(key, Uint8Array.from(bytes));
      this.bytes += bytes.length;
      for (const folder of foldersOf(key)) {
        const keys = this.#folders.get(folder) ?? new Set();
        this.#folders.set(folder, keys.add(key));
      }
      return true;
    },
    list: async (prefix, { limit = Infinity, after = "" } = {}) => {
      this.#requests++;
      const keys = [...(this.#folders.get(prefix) ?? [])].filter((key) => key > after);
      return keys.sort().slice(0, limit);
    },
    delete: async (keys) => {
      this.#requests++;
      for (const key of keys) {
        this.bytes -= this.#blobs.get(key)?.length ?? 0;
        this.#blobs.delete(key);
        for (const folder of foldersOf(key)) this.#folders.get(folder)?.delete(key);
      }
    },
    close: async () => undefined,
  };
}

function foldersOf(key) {
  return [...key.matchAll(/\//g)].map(({ index }) => key.slice(0, index + 1));
}
