/** Long work in pieces, between which the event loop turns. */

import { callKernel, type KernelCall } from "../engine/kernels/kernels.js";
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

/** Multiply-adds below which calls are made here: about as long as a message to a thread takes. */
const smallCost = 2 ** 20;

function isSmall(calls: readonly KernelCall[]): boolean {
  return calls.reduce((sum, { cost = Infinity }) => sum + cost, 0) < smallCost;
}

/** Drives work to its end: its kernel calls on the threads, and other work of the process between its pieces. */
export async function drive<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
  let turnedAt = performance.now();
  try {
    for (;;) {
      signal?.throwIfAborted();
      const step = work.next();
      if (step.done) return step.value;
      const calls = step.value ?? [];
      if (calls.length > 0 && isSmall(calls)) {
        for (const call of calls) callKernel(call);
        if (performance.now() - turnedAt < turnMsMax) continue;
        await breathe();
      } else await (calls.length > 0 ? kernelThreads().run(calls) : breathe());
      turnedAt = performance.now();
    }
  } finally {
    // Work that is given up frees what it holds; work that is done no longer cares.
    work.return(undefined as T);
  }
}
