/** One answer for all who ask at about the same time. */

/** `run`, but called at most once per `ms`: until then, everyone gets what the last call resolves to, or rejects with. */
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
