/** Long work in pieces, between which the event loop turns. */

/** Lets other work of the process run. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Drives a generator to its end, letting other work run between its pieces, unless the signal aborts. */
export async function drive<T>(work: Generator<void, T>, signal?: AbortSignal): Promise<T> {
  for (;;) {
    signal?.throwIfAborted();
    const step = work.next();
    if (step.done) return step.value;
    await breathe();
  }
}
