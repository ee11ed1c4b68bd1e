/** Long work in pieces, between which the event loop turns. */

import type { Work } from "../engine/work.js";
import { kernelThreads } from "../threads/kernel-threads.js";

/** Lets other work of the process run. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** How long a loop may go on before others have their turn. */
const turnMsMax = 8;

/** Calls `visit` with 0 to n - 1, letting other work run in between. */
export async function inTurns(n: number, visit: (i: number) => void): Promise<void> {
  let started = performance.now();
  for (let i = 0; i < n; i++) {
    visit(i);
    if (i % 64 < 63 || performance.now() - started < turnMsMax) continue;
    await breathe();
    started = performance.now();
  }
}

/** Drives work to its end: its kernel calls on the threads, and other work of the process between its pieces. */
export async function drive<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
  try {
    for (;;) {
      signal?.throwIfAborted();
      const step = work.next();
      if (step.done) return step.value;
      await (step.value?.length ? kernelThreads().run(step.value) : breathe());
    }
  } finally {
    // Work that is given up frees what it holds; work that is done no longer cares.
    work.return(undefined as T);
  }
}
