/** The mixed load itself, on a store that goes away for a while, as one does whose server is restarted. */

import { expect, test } from "vitest";
import { SealdexError } from "../../src/errors.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createLocalStore } from "../../src/storage/local.js";
import { mixedLoad } from "./mixed-load.js";
import { newFolder } from "../folder.js";

/** A store behind a connection that can be cut: calls under way then fail, half of them after they had their effect. */
function behindConnection(store: BlobStore) {
  let connected = true;
  let calls = 0;
  let failed = 0;
  const cut = () => {
    failed++;
    return new SealdexError("storage_unavailable", "test storage: the connection was cut");
  };
  async function call<T>(effect: () => Promise<T>): Promise<T> {
    if (!connected) throw cut();
    const isAnswered = calls++ % 2 === 0;
    const result = await effect();
    if (!connected && !isAnswered) throw cut();
    return result;
  }
  const through: BlobStore = {
    read: (key, range) => call(() => store.read(key, range)),
    create: (key, bytes) => call(() => store.create(key, bytes)),
    list: (prefix, options) => call(() => store.list(prefix, options)),
    delete: (keys) => call(() => store.delete(keys)),
    close: async () => {},
  };
  return {
    store: through,
    /** Cuts the connection until so many calls have failed. */
    async away(failures: number) {
      connected = false;
      for (const first = failed; failed < first + failures;) await new Promise(setImmediate);
      connected = true;
    },
  };
}

test("a store that goes away and comes back in the middle of a mixed load loses nothing", async () => {
  const path = await newFolder();
  const { store, away } = behindConnection(createLocalStore({ path }));
  const { acknowledged, reads, failed } = await mixedLoad(store, () => away(200));
  expect(failed).toBeGreaterThan(0);
  process.stdout.write(
    `mixed load: ${acknowledged} batches, ${reads} reads, ${failed} calls failed, 0 lost\n`,
  );
});
