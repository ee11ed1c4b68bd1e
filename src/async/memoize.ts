/** Caches promises by key. */

/** Returns the cached promise, or calls `find`. A rejected promise is dropped. */
export function memoize<T>(kept: Map<string, Promise<T>>, key: string, find: () => Promise<T>): Promise<T> {
  const known = kept.get(key);
  if (known !== undefined) return known;
  const found = find();
  kept.set(key, found);
  found.catch(() => {
    if (kept.get(key) === found) kept.delete(key);
  });
  return found;
}
