/** What the service reports every few seconds, and what that means per second. */

import { effect, signal } from "@preact/signals";
import type { Live } from "./answers.js";
import { percentileMs } from "./percentile.js";
import { ask, isSignedIn } from "./session.js";

const pollMs = 2000;
/** Ten minutes. */
const pointsMax = 300;

/** What happened between two reports. A share or a time is null if there was nothing to measure. */
export interface Point {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly queriesPerSecond: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  readonly errorsPerSecond: number;
  /** Of lookups in the cache. */
  readonly hitShare: number | null;
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly cacheBytes: number;
  readonly eventLoopMs: number;
}

export const latest = signal<Live | undefined>(undefined);
/** Since this tab signed in. */
export const points = signal<readonly Point[]>([]);
/** Why the last report is missing. */
export const liveError = signal<unknown>(undefined);

/** Reports while someone is signed in and the tab is visible. */
effect(() => {
  if (!isSignedIn.value) return undefined;
  latest.value = undefined;
  points.value = [];
  let isAsking = false;
  const poll = () => {
    // A service that is slow is not asked more and more.
    if (isAsking || document.hidden) return;
    isAsking = true;
    void report().finally(() => {
      isAsking = false;
    });
  };
  poll();
  const timer = setInterval(poll, pollMs);
  return () => clearInterval(timer);
});

async function report(): Promise<void> {
  try {
    const live = await ask<Live>("GET", "/v1/admin/live");
    const before = latest.peek();
    latest.value = live;
    liveError.value = undefined;
    // Counters of another process, or of the time before a restart, say nothing about what happened since.
    if (before === undefined || before.process !== live.process || live.at <= before.at) return;
    points.value = [...points.peek(), pointBetween(before, live)].slice(-pointsMax);
  } catch (error) {
    liveError.value = error;
  }
}

function pointBetween(before: Live, live: Live): Point {
  const seconds = (live.at - before.at) / 1000;
  const percentile = (share: number) => percentileMs(before.queries, live.queries, share);
  const lookups = live.cache.lookups - before.cache.lookups;
  const misses = live.cache.misses - before.cache.misses;
  return {
    at: live.at,
    queriesPerSecond: (live.queries.count - before.queries.count) / seconds,
    requestsPerSecond: (live.requests - before.requests) / seconds,
    p50Ms: percentile(0.5),
    p95Ms: percentile(0.95),
    p99Ms: percentile(0.99),
    errorsPerSecond: (errorsOf(live) - errorsOf(before)) / seconds,
    hitShare: lookups > 0 ? Math.max(0, 1 - misses / lookups) : null,
    rssBytes: live.memory.rssBytes,
    heapBytes: live.memory.heapBytes,
    cacheBytes: live.cache.bytes,
    eventLoopMs: 1000 * live.eventLoopSeconds,
  };
}

function errorsOf({ errors }: Live): number {
  return errors.reduce((sum, { count }) => sum + count, 0);
}
