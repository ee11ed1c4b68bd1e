/** A progress bar on a terminal, for work that takes longer than two seconds. */

import cliProgress from "cli-progress";

const shownAfterMs = 2000;

/** Runs work that reports its progress. The bar is gone when it has ended. */
export async function withBar<T>(work: (bar: ProgressBar) => Promise<T>): Promise<T> {
  const bar = new ProgressBar();
  try {
    return await work(bar);
  } finally {
    bar.end();
  }
}

export class ProgressBar {
  readonly #startedAt = performance.now();
  #bar: cliProgress.SingleBar | undefined;

  /** `total`: undefined if it is not known. */
  show(done: number, total: number | undefined, what: string): void {
    if (!process.stderr.isTTY || performance.now() - this.#startedAt < shownAfterMs) return;
    if (this.#bar === undefined) {
      // Drawn at once; further states wait for their turn.
      this.#bar = startBar(done, total, what);
      return;
    }
    if (total !== undefined) this.#bar.setTotal(total);
    this.#bar.update(done, { what });
  }

  end(): void {
    this.#bar?.stop();
  }
}

function startBar(done: number, total: number | undefined, what: string): cliProgress.SingleBar {
  const format = total === undefined ? "{value} {what}" : "[{bar}] {percentage} % {what}";
  const bar = new cliProgress.SingleBar({ format, stream: process.stderr, clearOnComplete: true });
  bar.start(total ?? 0, done, { what });
  return bar;
}
