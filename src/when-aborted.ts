/** Listeners for the abort of a signal. Nothing of Node.js is used. */

/** Per signal, what is called when it aborts. */
const listenersOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `listener` when the signal aborts, until the function that it returns is called. Any number of calls may share a
 * signal, which gets one event listener for all of them: from the eleventh on, Node.js warns of a leak.
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
