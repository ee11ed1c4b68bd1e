/** Listeners for aborted signals. Uses no Node.js modules. */

/** Listeners by signal. */
const listenersOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `listener` when the signal aborts, until the returned function is called. All calls with
 * one signal share one event listener: from the eleventh on, Node.js would warn of a leak.
 */
export function whenAborted(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => undefined;
  const listeners = listenersOf.get(signal) ?? listen(signal);
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function listen(signal: AbortSignal): Set<() => void> {
  const listeners = new Set<() => void>();
  listenersOf.set(signal, listeners);
  signal.addEventListener(
    "abort",
    () => {
      for (const listener of listeners) listener();
      listeners.clear();
    },
    { once: true },
  );
  return listeners;
}
