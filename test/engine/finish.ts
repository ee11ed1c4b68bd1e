/** Drives work to its end on this thread. */

import { runHere as finish } from "../../src/engine/threads/run.js";
import type { Work } from "../../src/engine/work.js";

export { finish };

/** The pieces that the work gives, put together. */
export function joined(work: Work<readonly Uint8Array[]>): Uint8Array {
  return Uint8Array.from(Buffer.concat(finish(work)));
}
