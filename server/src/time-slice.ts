/** Long work of one request in pieces, between which others have their turn. */

/** How long a request may go on before others have their turn. */
const sliceMs = 8;

export class TimeSlice {
  #startedAt = performance.now();

  /** Lets others have their turn if this request has had the event loop long enough. */
  async yieldIfDue(): Promise<void> {
    if (performance.now() - this.#startedAt < sliceMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#startedAt = performance.now();
  }
}
