/** Hedged requests (Dean and Barroso, "The Tail at Scale", 2013). */

type Call<T> = (signal: AbortSignal) => Promise<T>;

/** The result of the call that succeeds first: of `second`, which begins if `first` fails or after `ms`. Aborts the other; rejects if both fail. */
export async function hedged<T>(
  first: Call<T>,
  second: Call<T>,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<T> {
  const over = new AbortController();
  const own = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
  const firstResult = first(own);
  let timer: NodeJS.Timeout | undefined;
  const isDue = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
    firstResult.catch(() => resolve());
  });
  const secondResult = isDue.then(() => second(own));
  try {
    return await Promise.any([firstResult, secondResult]);
  } catch {
    return await secondResult;
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}
