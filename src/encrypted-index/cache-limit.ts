/** How much of the machine's memory opened blocks may take by default. */

import { totalmem } from "node:os";

/** Code blocks share the 4 GiB of the kernels' memory with models and with work in progress. */
const bytesMax = 2 * 1024 ** 3;
const share = 1 / 4;

/** A quarter of what this process may have: the machine's memory, or what its container allows. */
export function cacheBytesDefault(): number {
  // Undefined or beyond the machine's memory if nothing is constrained. Not available before Node 20.12.
  const constrained =
    (process as { constrainedMemory?: () => number | undefined }).constrainedMemory?.() || Infinity;
  return Math.floor(Math.min(bytesMax, share * Math.min(totalmem(), constrained)));
}
