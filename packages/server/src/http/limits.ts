/** Limits of one request, and of all together. */

import { getHeapStatistics } from "node:v8";

export interface Limits {
  /** Longest body of an upsert. */
  readonly bodyBytesMax: number;
  /** Items per upsert, and ids per other request. */
  readonly itemsMax: number;
  /** Longest body of other requests with vectors, filters or ids. */
  readonly queryBytesMax: number;
  /** Total bytes of bodies in progress. */
  readonly bodiesBytesMax: number;
  /** Concurrent requests. */
  readonly requestsMax: number;
  /** Concurrent trainings, compactions and renewals of data keys. */
  readonly longRequestsMax: number;
  /** Memory for the results of one request, and for all large results together, in bytes. */
  readonly resultBytesMax: number;
  readonly resultsBytesMax: number;
  /** Time limit of a read-only request. */
  readonly workMsMax: number;
  /** How long a client may stop reading its response. */
  readonly stalledMsMax: number;
  /** How long a client may take to send the headers of a request. */
  readonly headersMsMax: number;
  /** How long a client may take to send a whole request. */
  readonly requestMsMax: number;
  /** Requests per minute with one API key, and from one address. */
  readonly keyRequestsPerMinuteMax: number;
  readonly addressRequestsPerMinuteMax: number;
  /** Invalid API keys per minute from one address. */
  readonly failedKeysPerMinuteMax: number;
  /** Wrong index keys per minute from one client for one index. */
  readonly wrongIndexKeysPerMinuteMax: number;
  /** Waiting requests. */
  readonly waitingMax: number;
  /** Longest wait of a request, except for training, compaction and renewals. */
  readonly waitMsMax: number;
  /** Mean delay of the event loop in the last second, beyond which requests are refused. */
  readonly eventLoopDelayMsMax: number;
  /** Heap in use in bytes, beyond which requests are refused. */
  readonly heapBytesMax: number;
  /** Indexes kept open between requests. */
  readonly openIndexesMax: number;
  /** How long an unused index stays open. */
  readonly idleIndexMsMax: number;
  /** Open connections; a further one closes one of the address with the most. */
  readonly connectionsMax: number;
}

const { ["heap_size_limit"]: heapSizeLimit } = getHeapStatistics();
const resultBytesMax = 64 * 1024 * 1024;
/** Relative to the heap: metadata take up to twice their bytes, and vectors a sixth, outside of it. */
const bodiesBytesMax = Math.min(512 * 1024 * 1024, Math.floor(heapSizeLimit / 4));

export const defaultLimits: Limits = {
  bodyBytesMax: Math.min(256 * 1024 * 1024, bodiesBytesMax),
  itemsMax: 100_000,
  queryBytesMax: 32 * 1024 * 1024,
  bodiesBytesMax,
  requestsMax: 128,
  longRequestsMax: 2,
  resultBytesMax,
  // Relative to the heap, which holds results; the rest is for running requests.
  resultsBytesMax: Math.max(resultBytesMax, heapSizeLimit / 8),
  workMsMax: 60_000,
  stalledMsMax: 30_000,
  headersMsMax: 10_000,
  requestMsMax: 60_000,
  keyRequestsPerMinuteMax: Infinity,
  addressRequestsPerMinuteMax: Infinity,
  failedKeysPerMinuteMax: 60,
  wrongIndexKeysPerMinuteMax: 60,
  waitingMax: 1000,
  waitMsMax: 30_000,
  eventLoopDelayMsMax: 2000,
  heapBytesMax: 0.95 * heapSizeLimit,
  openIndexesMax: 1000,
  idleIndexMsMax: 600_000,
  connectionsMax: 2000,
};
