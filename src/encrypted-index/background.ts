/** Work that nobody waits for but the client, when it closes. */

export class Background {
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();

  /** Starts work that is done again by others where it fails or is cut short by the signal: neither is reported. */
  start(work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#stopping.signal.aborted) return;
    const running = work(this.#stopping.signal)
      .catch(() => undefined)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Has all work stop at its next step, and waits until it did. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }
}
