/** Long work in pieces, between which the event loop turns. */

import { callKernel, type KernelCall } from "../engine/kernels/kernels.js";
import type { Work } from "../engine/work.js";
import { kernelThreads } from "./kernel-threads.js";

/** Those who breathe. One goes on in each turn of the event loop: many at once hold it no longer than one does. */
const waiting: (() => void)[] = [];

/** Lets other work of the process run. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(next);
  });
}

function next(): void {
  turnedAt = performance.now();
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(next);
}

/** How long work may go on before others have their turn. */
const turnMsMax = 8;
/** When somebody last breathed. Of all, since loops that begin one after another share a turn. */
let turnedAt = 0;

/** Breathes if that was last done longer ago than a turn may take. */
export async function yieldIfDue(): Promise<void> {
  if (performance.now() - turnedAt >= turnMsMax) await yieldToEventLoop();
}

/** Calls `visit` with 0 to n - 1, letting other work run in between. */
export async function forEachYielding(n: number, visit: (i: number) => void): Promise<void> {
  for (let i = 0; i < n; i++) {
    if (i % 64 === 63) await yieldIfDue();
    visit(i);
  }
}

/** Multiply-adds below which calls are made here: about as long as a message to a thread takes. */
const smallCost = 2 ** 20;

function isSmall(calls: readonly KernelCall[]): boolean {
  return calls.reduce((sum, { cost = Infinity }) => sum + cost, 0) < smallCost;
}

/** Drives work to its end: its kernel calls on the threads, and other work of the process between its pieces. */
export async function run<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
  let startedAt = performance.now();
  try {
    for (;;) {
      signal?.throwIfAborted();
      const step = work.next();
      if (step.done) return step.value;
      const calls = step.value ?? [];
      if (calls.length > 0 && isSmall(calls)) {
        for (const call of calls) callKernel(call);
        if (performance.now() - startedAt < turnMsMax) continue;
        await yieldToEventLoop();
      } else await (calls.length > 0 ? kernelThreads().run(calls) : yieldToEventLoop());
      startedAt = performance.now();
    }
  } finally {
    // Work that is given up frees what it holds; work that is done no longer cares.
    work.return(undefined as T);
  }
}
