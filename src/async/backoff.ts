/** Pauses between retries. Uses no Node.js modules. */

import { whenAborted } from "./abort.js";
import { timers } from "./timers.js";

/** Resolves after the time; rejects with the signal's reason on abort. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stopListening = whenAborted(signal, () => {
      timers.clearTimeout(timer);
      reject(signal?.reason);
    });
    const timer = timers.setTimeout(() => {
      stopListening();
      resolve();
    }, ms);
  });
}

/**
 * A random time up to `firstMs`, doubled per earlier failure, up to `maxMs`: exponential backoff
 * with full jitter (Brooker, "Exponential Backoff And Jitter", 2015). `failed`: failures before the
 * last one.
 */
export function backoffMs(failed: number, firstMs: number, maxMs: number): number {
  return Math.random() * Math.min(maxMs, firstMs * 2 ** failed);
}
