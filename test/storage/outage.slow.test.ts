/** The outage suite finds out stores that break: each of these fails exactly the cases that it should. */

import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { SealdexError } from "../../src/errors.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { outageConformance, type OutageServer } from "../../src/storage/conformance.js";
import { createMemoryStore } from "../../src/storage/memory.js";

const down = "rejects while its server is down, and recovers by itself when it is back";
const silent = "rejects in time while its server does not answer, and recovers by itself when it does";
const killed = "loses nothing that it acknowledged when its server is killed in the middle of creates";

beforeAll(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterAll(() => void vi.useRealTimers());

/** A store whose server can fail: `blobs` are those of the server, `answers` tells if it responds. */
interface Remote {
  answers: boolean;
  blobs: BlobStore;
}

const faults: Record<
  string,
  {
    readonly store?: (remote: Remote, right: BlobStore) => Partial<BlobStore>;
    readonly kill?: (remote: Remote) => Promise<void>;
    readonly caught: readonly string[];
  }
> = {
  "does nothing wrong": { caught: [] },
  "answers from memory without its server": {
    store: ({ blobs }) => ({ read: (key, range) => blobs.read(key, range) }),
    caught: [down, silent],
  },
  "never works again": {
    store(remote, right) {
      let broken = false;
      return {
        async read(key, range) {
          broken ||= !remote.answers;
          // The suite gives up after a minute, which need not be waited for.
          if (broken && remote.answers) vi.setSystemTime(Date.now() + 60_000);
          if (broken) throw new SealdexError("storage_unavailable", "for good");
          return right.read(key, range);
        },
      };
    },
    caught: [down, silent],
  },
  "acknowledges before it is stored": {
    async kill(remote) {
      const [first] = await remote.blobs.list("writer/");
      await remote.blobs.delete([first]);
    },
    caught: [killed],
  },
  "leaves half of a blob": {
    async kill(remote) {
      await remote.blobs.create("writer/0/999999", Uint8Array.of(1));
    },
    caught: [killed],
  },
};

test.each(Object.entries(faults))("a store that %s", async (_, { store: fault, kill, caught }) => {
  const failed: string[] = [];
  const cases: { readonly name: string; readonly run: () => Promise<void> }[] = [];
  let remote: Remote;
  const server: OutageServer = {
    down: async () => void (remote.answers = false),
    pause: async () => void (remote.answers = false),
    up: () => comesBack(),
    resume: () => comesBack(),
    async kill() {
      remote.answers = false;
      await kill?.(remote);
    },
  };
  async function comesBack(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 100));
    remote.answers = true;
  }
  const factory = async () => {
    remote = { answers: true, blobs: createMemoryStore() };
    const right = unlessAway(remote);
    return { open: async () => ({ ...right, ...fault?.(remote, right) }) };
  };
  outageConformance({ test: (name, run) => cases.push({ name, run }), factory, server: () => server });
  for (const { name, run } of cases) await run().catch(() => failed.push(name));
  expect(failed).toEqual(caught);
});

function unlessAway(remote: Remote): BlobStore {
  const answer = async <T>(work: () => Promise<T>) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (!remote.answers) throw new SealdexError("storage_unavailable", "away");
    return work();
  };
  return {
    read: (key, range) => answer(() => remote.blobs.read(key, range)),
    create: (key, bytes) => answer(() => remote.blobs.create(key, bytes)),
    list: (prefix, options) => answer(() => remote.blobs.list(prefix, options)),
    delete: (keys) => answer(() => remote.blobs.delete(keys)),
    async close() {},
  };
}
