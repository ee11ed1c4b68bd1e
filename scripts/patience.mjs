// Time limits of checks. They end programs that hang: one that works takes a fraction of them, even on a busy machine.

import { setTimeout as pause } from "node:timers/promises";

/** For a program, in milliseconds. */
export const patience = 1_800_000;
/** Until a service responds. */
const startMsMax = 300_000;

/** Resolves when a URL gives a response of success. */
export async function untilOk(url) {
  for (const end = Date.now() + startMsMax; Date.now() < end; await pause(100)) {
    // What publishes a container's port accepts connections before the service does, and may leave one without an answer.
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) }).catch(() => null);
    if (response?.ok) return;
  }
  throw new Error(`${url} gives no response of success`);
}
