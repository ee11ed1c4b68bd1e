/** Keeps what was found out, as promises. */

/** What `find` gave for this key before. A failure is not kept. */
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
