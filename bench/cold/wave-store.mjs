// A store that counts what work takes of it: requests, bytes that are read, and waits (requests that follow one another, whatever
// runs at the same time).

import { setImmediate as turn } from "node:timers/promises";

/** Turns of the event loop in which nothing was begun, before what was begun goes on. */
const quietTurns = 50;

/**
 * Requests come in waves: those that were begun go on together, once nothing more is begun without them. Each is one deeper
 * than the deepest that had ended when it began.
 */
export function createWaveStore(inner) {
  let deepestEnded = 0;
  let requests = [];
  let begun = 0;
  let goOn;

  async function untilQuiet() {
    for (let turns = 0, seen = begun; turns < quietTurns; turns++) {
      await turn();
      if (begun > seen) turns = 0;
      seen = begun;
    }
    goOn = undefined;
  }

  async function wave(name, run) {
    const request = { depth: deepestEnded + 1, name, bytes: 0 };
    requests.push(request);
    begun++;
    await (goOn ??= untilQuiet());
    try {
      const result = await run();
      if (result instanceof Uint8Array) request.bytes = result.length;
      return result;
    } finally {
      deepestEnded = Math.max(deepestEnded, request.depth);
    }
  }

  const nameOf = (key, range) => `read ${key}${range ? ` ${range.offset}+${range.length}` : ""}`;
  return {
    store: {
      read: (key, range) => wave(nameOf(key, range), () => inner.read(key, range)),
      create: (key, bytes) => wave(`create ${key}`, () => inner.create(key, bytes)),
      list: (prefix, options) => wave(`list ${prefix}`, () => inner.list(prefix, options)),
      delete: (keys) => wave(`delete ${keys.length}`, () => inner.delete(keys)),
      close: () => inner.close(),
    },
    async measure(work) {
      deepestEnded = 0;
      requests = [];
      await work();
      const operations = requests.map(
        ({ depth, name, bytes }) =>
          `${depth}: ${name.replace(/[0-9a-f]{32}/g, (id) => id.slice(0, 4))}, ${bytes} bytes`,
      );
      return {
        waits: deepestEnded,
        requests: requests.length,
        bytes: requests.reduce((sum, request) => sum + request.bytes, 0),
        operations,
      };
    },
  };
}
