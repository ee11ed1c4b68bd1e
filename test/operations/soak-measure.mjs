// What the processes of the soaks share. Uses the build. Run with --expose-gc.

let now = Date.now();

/**
 * Time passes with each call, so that garbage is collected as in a process that lives for days: it would count as a leak of
 * the storage location, which is in memory.
 */
export const clock = {
  wall: () => (now += 1000),
  steady: () => now,
  pause: () => new Promise(setImmediate),
  after: () => () => undefined,
};

/** What the process holds, in bytes, beside the memory of the kernels. */
export async function heldBytes() {
  // Some rounds: finalizers run between turns of the event loop, and what they let go is collected after it.
  for (let i = 0; i < 5; i++) {
    globalThis.gc();
    await new Promise(setImmediate);
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
