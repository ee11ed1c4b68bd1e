/**
 * Drives `Work`: runs its kernel calls on the threads, and yields to the event loop between pieces.
 */

import { callKernel, type KernelCall } from "../engine/kernels/kernels.js";
import type { Work } from "../engine/work.js";
import { kernelThreads } from "./kernel-threads.js";
import { TimeSlice, yieldToEventLoop } from "./yield-to-event-loop.js";

/** Multiply-adds below which calls run here: they take about as long as a message to a thread. */
const smallCost = 2 ** 20;

/** Drives work to its end and returns its result. */
export async function run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
  const slice = new TimeSlice();
  try {
    for (;;) {
      signal?.throwIfAborted();
      const step = work.next();
      if (step.done) return step.value;
      const calls = step.value ?? [];
      if (calls.length > 0 && isSmall(calls)) {
        for (const call of calls) callKernel(call);
        if (!slice.isOver) continue;
        await yieldToEventLoop();
      } else await (calls.length > 0 ? kernelThreads().run(calls) : yieldToEventLoop());
      slice.restart();
    }
  } finally {
    // Lets abandoned work free its memory; no effect on finished work.
    work.return(undefined as T);
  }
}

function isSmall(calls: readonly KernelCall[]): boolean {
  return calls.reduce((sum, { cost = Infinity }) => sum + cost, 0) < smallCost;
}
