/** Long work of one request in pieces, between which the event loop serves others. */

/** How long a request may hold the event loop. */
const sliceMs = 8;

export class TimeSlice {
  #startedAt = performance.now();

  /** Yields if this request has held the event loop for a time slice. */
  async yieldIfDue(): Promise<void> {
    if (performance.now() - this.#startedAt < sliceMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#startedAt = performance.now();
  }
}
