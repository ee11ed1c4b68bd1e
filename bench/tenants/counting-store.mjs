// A store that counts requests, and the bytes that are stored. Each request takes a turn of the event loop, as of any real storage.

import { setImmediate as turn } from "node:timers/promises";

export class CountingStore {
  /** Stored, and not subtracted when deleted. */
  bytes = 0;
  #requests = 0;

  constructor(inner) {
    const counted =
      (run) =>
      async (...given) => {
        this.#requests++;
        await turn();
        return run(...given);
      };
    this.store = {
      read: counted(inner.read),
      create: counted(async (key, bytes, options) => {
        const isNew = await inner.create(key, bytes, options);
        if (isNew) this.bytes += bytes.length;
        return isNew;
      }),
      list: counted(inner.list),
      delete: counted(inner.delete),
      close: async () => undefined,
    };
  }

  /** What `work` asked of the store, and stored. */
  async during(work) {
    const [requests, bytes, startedAt] = [this.#requests, this.bytes, performance.now()];
    await work();
    return {
      requests: this.#requests - requests,
      bytes: this.bytes - bytes,
      ms: performance.now() - startedAt,
    };
  }
}
