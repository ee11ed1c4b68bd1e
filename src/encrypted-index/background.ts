/** Work that only `close()` of the client waits for. */

export class Background {
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();

  /** Starts work that other processes repeat if it fails or is aborted by the signal: neither is reported. */
  start(work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#stopping.signal.aborted) return;
    const running = work(this.#stopping.signal)
      .catch(() => undefined)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Stops all work at its next step, and waits for that. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }
}
