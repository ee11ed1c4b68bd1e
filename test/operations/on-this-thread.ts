/** Kernels on this thread alone: while others work, the event loop turns as often as the machine is fast, and their calls are not counted. */

import { vi } from "vitest";
import { KernelThreads, kernelThreads } from "../../src/engine/threads/kernel-threads.js";

export async function onThisThread<T>(work: () => Promise<T>): Promise<T> {
  const here = new KernelThreads(0);
  const threads = vi.spyOn(kernelThreads(), "run").mockImplementation((calls) => here.run(calls));
  try {
    return await work();
  } finally {
    threads.mockRestore();
  }
}
