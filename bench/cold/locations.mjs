// What the storage locations are taken to be: how long a read takes, and what it costs. Assumptions, not measurements: change them to
// what yours does.

import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";

/**
 * `latencyMs`: from a request to the first byte of its answer. `bytesPerMs`: of one request. `perMillionReads`, `perMillionLists`,
 * `perGbMonth`: US dollars, as of 2026. Local: an NVMe disk, as a network volume of a cloud is billed. Redis: in the same
 * zone, a node billed by its memory. S3: the standard class in the same region, whose bytes are free of charge there.
 */
export const locations = {
  local: { latencyMs: 0.1, bytesPerMs: 1e6, perMillionReads: 0, perMillionLists: 0, perGbMonth: 0.08 },
  Redis: { latencyMs: 0.5, bytesPerMs: 5e5, perMillionReads: 0, perMillionLists: 0, perGbMonth: 12 },
  S3: { latencyMs: 30, bytesPerMs: 8e4, perMillionReads: 0.4, perMillionLists: 5, perGbMonth: 0.023 },
};

/** Requests at once, as the drivers send them. */
const requestsMax = 64;

/** The store behind a location: its reads and lists take as long as they would there. */
export function delayed(inner, { latencyMs, bytesPerMs }) {
  let running = 0;
  const waiting = [];

  async function request(work) {
    if (running === requestsMax) await new Promise((resolve) => waiting.push(resolve));
    else running++;
    const startedAt = performance.now();
    try {
      const result = await work();
      const bytes = result instanceof Uint8Array ? result.length : 0;
      await until(startedAt + latencyMs + bytes / bytesPerMs);
      return result;
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  }

  return {
    ...inner,
    read: (key, range) => request(() => inner.read(key, range)),
    list: (prefix, options) => request(() => inner.list(prefix, options)),
  };
}

/** Timers are exact to a millisecond or two: the last ones are waited for in turns of the event loop. */
async function until(time) {
  const timerMs = time - performance.now() - 2;
  if (timerMs > 0) await sleep(timerMs);
  while (performance.now() < time) await turn();
}
