/** Keeps what was found out, as promises. */

/**
 * What `find` gave for this key before, if it is among the `keptMax` that were asked for last. A failure is not remembered.
 */
export function memoize<T>(
  kept: Map<string, Promise<T>>,
  key: string,
  find: () => Promise<T>,
  keptMax = Infinity,
): Promise<T> {
  const found = kept.get(key) ?? find();
  if (!kept.has(key)) found.catch(() => kept.delete(key));
  // Put back at the end: the order of a Map is the order of insertion.
  kept.delete(key);
  kept.set(key, found);
  if (kept.size > keptMax) kept.delete([...kept.keys()][0]);
  return found;
}
