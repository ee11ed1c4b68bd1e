/** Drives work to its end on this thread. */

import { callKernel } from "../../src/engine/kernels/kernels.js";
import type { Work } from "../../src/engine/work.js";

export function finish<T>(work: Work<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    for (const call of step.value ?? []) callKernel(call);
  }
}

/** The pieces that the work gives, put together. */
export function joined(work: Work<readonly Uint8Array[]>): Uint8Array {
  return Uint8Array.from(Buffer.concat(finish(work)));
}
