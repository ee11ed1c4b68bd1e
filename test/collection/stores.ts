/** Stores of tests in which calls of several clients follow one another in a given order. */

import { seededRandom } from "../../src/engine/random.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { StandingClock } from "../protocol/standing-clock.js";

export async function copyOf(store: BlobStore): Promise<BlobStore> {
  const copy = createMemoryStore();
  for (const key of await store.list("")) {
    const bytes = await store.read(key, { offset: 0, length: 2 ** 30 });
    if (bytes !== null) await copy.create(key, bytes);
  }
  return copy;
}

export interface PausedStore extends BlobStore {
  /** Whether there were so many calls that it paused. */
  readonly hasPaused: boolean;
}

/** A store that waits for `work` before the call of this number, from 0, as for a process that is suspended there. */
export function pausedStore(store: BlobStore, number: number, work: () => Promise<void>): PausedStore {
  let calls = 0;
  let hasPaused = false;
  const during = async <T>(call: () => Promise<T>): Promise<T> => {
    if (calls++ === number) {
      hasPaused = true;
      await work();
    }
    return call();
  };
  return {
    get hasPaused() {
      return hasPaused;
    },
    read: (key, range, options) => during(() => store.read(key, range, options)),
    create: (key, bytes, options) => during(() => store.create(key, bytes, options)),
    list: (prefix, options) => during(() => store.list(prefix, options)),
    delete: (keys, options) => during(() => store.delete(keys, options)),
    close: () => store.close(),
  };
}

/** A store that waits for `work` before the first call of this kind. */
export function pausedBefore(
  store: BlobStore,
  kind: "create" | "delete",
  work: () => Promise<unknown>,
): BlobStore {
  let first: Promise<unknown> | undefined;
  const during = async <T>(own: string, call: () => Promise<T>): Promise<T> => {
    if (own === kind) await (first ??= work());
    return call();
  };
  return {
    read: (key, range, options) => store.read(key, range, options),
    create: (key, bytes, options) => during("create", () => store.create(key, bytes, options)),
    list: (prefix, options) => store.list(prefix, options),
    delete: (keys, options) => during("delete", () => store.delete(keys, options)),
    close: () => store.close(),
  };
}

/** A clock by which every pause is over at once. */
export class HastyClock extends StandingClock {
  override pause = async (ms: number): Promise<void> => {
    this.ms += ms;
  };
}

/** A store for several clients at once, whose waiting calls happen one after the other, in an order that depends on the seed. */
export function inRandomOrder(store: BlobStore, seed: number): BlobStore {
  const random = seededRandom(seed);
  const waiting: (() => Promise<void>)[] = [];
  let isRunning = false;
  const drain = async () => {
    isRunning = true;
    for (; waiting.length > 0; await nextTurn()) {
      const [next] = waiting.splice(Math.floor(random() * waiting.length), 1);
      await next();
    }
    isRunning = false;
  };
  const inTurn = <T>(call: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      waiting.push(() => call().then(resolve, reject));
      if (!isRunning) void drain();
    });
  return {
    read: (key, range, options) => inTurn(() => store.read(key, range, options)),
    create: (key, bytes, options) => inTurn(() => store.create(key, bytes, options)),
    list: (prefix, options) => inTurn(() => store.list(prefix, options)),
    delete: (keys, options) => inTurn(() => store.delete(keys, options)),
    close: () => store.close(),
  };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
