/** A limit to how many operations run at once, so that ten thousand reads need not open ten thousand files. */

/** What the semaphore returns settles as the operation does. Operations start in the order of the calls. */
export type Semaphore = <T>(operation: () => Promise<T>) => Promise<T>;

export function createSemaphore(runningMax: number): Semaphore {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (operation) => {
    if (running < runningMax) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await operation();
    } finally {
      // The place passes on to the next, or is given up.
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
