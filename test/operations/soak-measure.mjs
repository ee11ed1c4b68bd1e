// What the processes of the soaks share. Uses the build. Run with --expose-gc.

let now = Date.now();
/** What is to be called, and when. */
const timers = new Set();

function pass(ms) {
  now += ms;
  for (const timer of timers) {
    if (timer.at > now) continue;
    timers.delete(timer);
    setImmediate(() => timer.run());
  }
  return now;
}

/**
 * Time passes with each call, so that garbage is collected as in a process that lives for days: it would count as a leak of
 * the storage location, which is in memory.
 */
export const clock = {
  wall: () => pass(1000),
  steady: () => now,
  pause: () => new Promise(setImmediate),
  after(ms, run) {
    const timer = { at: now + ms, run };
    timers.add(timer);
    return () => timers.delete(timer);
  },
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
