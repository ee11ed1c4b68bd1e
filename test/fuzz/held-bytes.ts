/** What a process holds once everything that can be collected is gone. */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Live objects and buffers, in bytes. */
export async function heldBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  // What the first collection lets finalizers release is gone with the second.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
