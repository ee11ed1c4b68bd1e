/** Works on several things at a time, and to the end. */

import { createSemaphore } from "./semaphore.js";

/** The results of `work` on each, at most `together` at a time. If it fails for some, this rejects as the first of them, when it is done with all. */
export async function settleEach<S, T>(
  things: readonly S[],
  together: number,
  work: (thing: S) => Promise<T>,
): Promise<T[]> {
  const inTurn = createSemaphore(together);
  const results = await Promise.allSettled(things.map((thing) => inTurn(() => work(thing))));
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}
