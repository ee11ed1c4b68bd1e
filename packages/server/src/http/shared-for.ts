/** Shares one result among concurrent callers. */

/** Calls `run` at most once per `ms`; in between, callers share the last promise. */
export function sharedFor<T>(ms: number, run: () => Promise<T>): () => Promise<T> {
  let calledAt = -Infinity;
  let result: Promise<T>;
  return () => {
    if (performance.now() - calledAt >= ms) {
      calledAt = performance.now();
      result = run();
    }
    return result;
  };
}
