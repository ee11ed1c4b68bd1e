/** Hedged requests (Dean and Barroso, "The Tail at Scale", 2013). */

/** Made once: an error with its stack takes longer than the rest of a call. */
const overtaken = new Error("another leaf was faster");

/**
 * The result of the call that succeeds first. `second` begins when `first` fails, and receives the reason, or after `ms`, and receives
 * undefined. Aborts the other one; rejects if both fail.
 */
export async function hedged<T>(
  first: (signal: AbortSignal) => Promise<T>,
  second: (signal: AbortSignal, failure: unknown) => Promise<T>,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<T> {
  const calls = new AbortController();
  const abort = () => calls.abort(signal?.reason);
  if (signal?.aborted === true) abort();
  signal?.addEventListener("abort", abort);
  const firstResult = first(calls.signal);
  let timer: NodeJS.Timeout | undefined;
  let isSecondBegun = false;
  const failureOrDelay = new Promise<unknown>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
    firstResult.catch(resolve);
  });
  const secondResult = failureOrDelay.then((failure) => {
    isSecondBegun = true;
    return second(calls.signal, failure);
  });
  try {
    return await Promise.any([firstResult, secondResult]);
  } catch {
    return await secondResult;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
    if (isSecondBegun) calls.abort(overtaken);
  }
}
