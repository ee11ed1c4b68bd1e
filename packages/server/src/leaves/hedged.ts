/** Hedged requests (Dean and Barroso, "The Tail at Scale", 2013). */

type Call<T> = (signal: AbortSignal) => Promise<T>;

/** Made once: an error with its stack takes longer than the rest of a call. */
const overtaken = new Error("another leaf was faster");

/** The result of the call that succeeds first: of `second`, which begins if `first` fails or after `ms`. Aborts the other; rejects if both fail. */
export async function hedged<T>(
  first: Call<T>,
  second: Call<T>,
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
  const isDue = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
    firstResult.catch(() => resolve());
  });
  const secondResult = isDue.then(() => {
    isSecondBegun = true;
    return second(calls.signal);
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
