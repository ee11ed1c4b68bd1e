/** A progress bar on a terminal, for work that takes longer than two seconds. */

import cliProgress from "cli-progress";

const shownAfterMs = 2000;

/** `total`: undefined if it is not known. */
type Show = (done: number, total: number | undefined, what: string) => void;

/** Runs work that reports its progress. The bar is gone when it has ended. */
export async function withBar<T>(work: (show: Show) => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  let bar: cliProgress.SingleBar | undefined;
  const show: Show = (done, total, what) => {
    if (!process.stderr.isTTY || performance.now() - startedAt < shownAfterMs) return;
    if (bar === undefined) {
      const format = total === undefined ? "{value} {what}" : "[{bar}] {percentage} % {what}";
      bar = new cliProgress.SingleBar({ format, stream: process.stderr, clearOnComplete: true });
      // Drawn at once; further states wait for their turn.
      bar.start(total ?? 0, done, { what });
      return;
    }
    if (total !== undefined) bar.setTotal(total);
    bar.update(done, { what });
  };
  try {
    return await work(show);
  } finally {
    bar?.stop();
  }
}
