/** Limits concurrency, so that ten thousand reads do not open ten thousand files. */

/**
 * Settles like the operation. Operations start in the order of the calls. Default weight: 1; an
 * operation heavier than the limit runs alone.
 */
export type Semaphore = <T>(operation: () => Promise<T>, weight?: number) => Promise<T>;

/** Runs operations while the sum of their weights is at most `weightMax`. */
export function createSemaphore(weightMax: number): Semaphore {
  const waiting: { readonly weight: number; readonly start: () => void }[] = [];
  let running = 0;
  const fits = (weight: number) => running === 0 || running + weight <= weightMax;
  const startNext = () => {
    for (let next = waiting[0]; next !== undefined && fits(next.weight); next = waiting[0]) {
      waiting.shift();
      running += next.weight;
      next.start();
    }
  };
  return async (operation, weight = 1) => {
    if (waiting.length === 0 && fits(weight)) running += weight;
    else await new Promise<void>((start) => waiting.push({ weight, start }));
    try {
      return await operation();
    } finally {
      running -= weight;
      startNext();
    }
  };
}
