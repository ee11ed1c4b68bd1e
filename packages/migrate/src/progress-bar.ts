/** A progress bar on a terminal. */

import cliProgress from "cli-progress";

export class ProgressBar {
  #bar: cliProgress.SingleBar | undefined;
  #phase = "";

  /** `total`: undefined if it is not known. */
  show(done: number, total: number | undefined, phase: string): void {
    if (!process.stderr.isTTY) return;
    if (this.#bar === undefined || this.#phase !== phase) {
      this.end();
      this.#phase = phase;
      const format = total === undefined ? "{value} {phase}" : "[{bar}] {percentage} % {phase}";
      this.#bar = new cliProgress.SingleBar({ format, stream: process.stderr, clearOnComplete: true });
      this.#bar.start(total ?? 0, done, { phase });
    }
    this.#bar.update(done, { phase });
  }

  end(): void {
    this.#bar?.stop();
    this.#bar = undefined;
  }
}
