/**
 * Tells other parts of the process which indexes are trained, on the diagnostics channel `sealdex:training`: a message
 * `{ indexName, state, ms }` when a training starts, with the state `started`, and when it ends, with `done` or `failed`. `ms` is how
 * long it took. The channel costs nothing while nobody subscribes.
 */

import { channel } from "node:diagnostics_channel";
import { performance } from "../real-timers.js";

const trainings = channel("sealdex:training");

/** Runs a training and publishes when it starts and ends. */
export async function publishTraining(indexName: string, work: () => Promise<void>): Promise<void> {
  if (!trainings.hasSubscribers) return work();
  const startedAt = performance.now();
  const publish = (state: string) =>
    trainings.publish({ indexName, state, ms: performance.now() - startedAt });
  publish("started");
  let state = "failed";
  try {
    await work();
    state = "done";
  } finally {
    publish(state);
  }
}
