// A store in memory that finds a folder among millions of keys.

export function createFolderStore() {
  const blobs = new Map();
  /** Names of what is in each folder, and whether they are sorted. */
  const folders = new Map();

  function* walk(folder, after) {
    const names = folders.get(folder);
    if (names === undefined) return;
    names.sorted ??= [...names.all].sort();
    for (const name of names.sorted) {
      const key = folder + name;
      const isFolder = key.endsWith("/");
      if (key <= after && !(isFolder && after.startsWith(key))) continue;
      if (isFolder) yield* walk(key, after);
      else yield key;
    }
  }

  function note(key, change) {
    for (let end = key.length; end > 0;) {
      const start = key.lastIndexOf("/", end - 2) + 1;
      const names = folders.get(key.slice(0, start)) ?? { all: new Set() };
      folders.set(key.slice(0, start), names);
      names.sorted = undefined;
      names.all[change](key.slice(start, end));
      if (change === "delete" && names.all.size > 0) return;
      end = start;
    }
  }

  return {
    async read(key, range) {
      const blob = blobs.get(key) ?? null;
      return blob && range ? blob.subarray(range.offset, range.offset + range.length) : blob;
    },
    async create(key, bytes) {
      if (blobs.has(key)) return false;
      blobs.set(key, Uint8Array.from(bytes));
      note(key, "add");
      return true;
    },
    async list(prefix, { limit = Infinity, after = "" } = {}) {
      const keys = [];
      for (const key of walk(prefix.slice(0, prefix.lastIndexOf("/") + 1), after)) {
        if (keys.length >= limit) break;
        if (key.startsWith(prefix)) keys.push(key);
      }
      return keys;
    },
    async delete(keys) {
      for (const key of keys) if (blobs.delete(key)) note(key, "delete");
    },
    close: async () => undefined,
  };
}
