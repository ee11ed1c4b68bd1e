/** What a process holds once everything that can be collected is gone. */

import { getHeapCodeStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Live objects and buffers, in bytes, without what V8 compiled: it compiles and discards code for as long as a process runs. */
export async function heldBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  // Some rounds: finalizers run between turns of the event loop, and what they release is collected after it.
  for (let i = 0; i < 5; i++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  const code = getHeapCodeStatistics();
  return heapUsed + external - code.code_and_metadata_size - code.bytecode_and_metadata_size;
}
