/** Limits of one request, and of all together: for each its default, and its meaning for docs/service.md. */

import { getHeapStatistics } from "node:v8";

interface Limit {
  readonly unit: "bytes" | "milliseconds" | "count";
  readonly byDefault: number;
  /** Markdown, without the period. */
  readonly meaning: string;
  /** The default in words, if it depends on the machine. */
  readonly inWords?: string;
}

const { ["heap_size_limit"]: heapSizeLimit } = getHeapStatistics();
const MiB = 1024 * 1024;
/** Relative to the heap: metadata take up to twice their bytes, and vectors a sixth, outside of it. */
const bodiesBytesMax = Math.min(512 * MiB, Math.floor(heapSizeLimit / 4));

const bytes = (byDefault: number, meaning: string, inWords?: string): Limit => ({
  unit: "bytes",
  byDefault,
  meaning,
  ...(inWords !== undefined && { inWords }),
});
const ms = (byDefault: number, meaning: string): Limit => ({ unit: "milliseconds", byDefault, meaning });
const count = (byDefault: number, meaning: string): Limit => ({ unit: "count", byDefault, meaning });

/** In the order of docs/service.md. */
export const limitTable = {
  bodyBytesMax: bytes(
    Math.min(256 * MiB, bodiesBytesMax),
    "Body of `vectors/upsert` and `vectors/upsert_binary`",
    "256 MiB, at most a quarter of the heap",
  ),
  itemsMax: count(100_000, "Items of an upsert, and ids of other requests"),
  queryBytesMax: bytes(32 * MiB, "Body of `indexes/train` and other requests under `vectors/`"),
  bodiesBytesMax: bytes(
    bodiesBytesMax,
    "Bodies above 64 KiB in progress; those of routers count apart",
    "512 MiB, at most a quarter of the heap",
  ),
  requestsMax: count(128, "Concurrent requests; those of routers count apart"),
  longRequestsMax: count(2, "Concurrent trainings, compactions, renewals of data keys and splits of shards"),
  resultBytesMax: bytes(64 * MiB, "Results of one request, in memory"),
  // Relative to the heap, which holds results; the rest is for running requests.
  resultsBytesMax: bytes(
    Math.max(64 * MiB, heapSizeLimit / 8),
    "Results of more than 256 KiB at once, in memory",
    "an eighth of the heap, at least 64 MiB",
  ),
  workMsMax: ms(60_000, "Duration of a request that reads"),
  stalledMsMax: ms(30_000, "How long a client may stop reading its response"),
  headersMsMax: ms(10_000, "Time for a client to send headers"),
  requestMsMax: ms(60_000, "Time for a client to send a request"),
  keyRequestsPerMinuteMax: count(Infinity, "Requests per minute with one API key"),
  addressRequestsPerMinuteMax: count(Infinity, "Requests per minute from one address"),
  failedKeysPerMinuteMax: count(60, "Invalid API keys per minute from one address"),
  wrongIndexKeysPerMinuteMax: count(60, "Wrong index keys per minute from one client for one index"),
  waitingMax: count(1000, "Waiting requests"),
  waitMsMax: ms(
    30_000,
    "Queueing time before a 503, except for training, compaction, renewals of data keys and splits of shards",
  ),
  eventLoopDelayMsMax: ms(2000, "Mean delay of the event loop beyond which requests are refused"),
  heapBytesMax: bytes(
    0.95 * heapSizeLimit,
    "Heap in use beyond which requests are refused",
    "95 % of the heap",
  ),
  openIndexesMax: count(1000, "Indexes kept open between requests"),
  idleIndexMsMax: ms(600_000, "Time that an index without requests stays open"),
  connectionsMax: count(2000, "Open connections"),
} satisfies Readonly<Record<string, Limit>>;

export type Limits = Readonly<Record<keyof typeof limitTable, number>>;

export const defaultLimits = Object.fromEntries(
  Object.entries(limitTable).map(([limit, { byDefault }]) => [limit, byDefault]),
) as Limits;
