/** What one request, and all of them together, may take of the service. */

import { getHeapStatistics } from "node:v8";

export interface Limits {
  /** The longest body of an upsert. */
  readonly bodyBytesMax: number;
  /** Items of an upsert, and ids of other requests. */
  readonly itemsMax: number;
  /** The longest body of what else has vectors, filters or ids. */
  readonly queryBytesMax: number;
  /** Bodies that are received and worked on at once, in bytes. */
  readonly bodiesBytesMax: number;
  /** Requests that are worked on at once. */
  readonly requestsMax: number;
  /** Trainings, compactions and renewals of data keys at once. */
  readonly longRequestsMax: number;
  /** What the results of one request may take in memory, and all large results together, in bytes. */
  readonly resultBytesMax: number;
  readonly resultsBytesMax: number;
  /** How long a request that only reads may be worked on. */
  readonly workMsMax: number;
  /** How long a client may stop reading its answer. */
  readonly stalledMsMax: number;
  /** How long a client may take to send the headers of a request. */
  readonly headersMsMax: number;
  /** How long a client may take to send a request, its body included. */
  readonly requestMsMax: number;
  /** Requests per minute with one API key, and from one address. */
  readonly keyRequestsPerMinuteMax: number;
  readonly addressRequestsPerMinuteMax: number;
  /** Invalid API keys per minute from one address. */
  readonly failedKeysPerMinuteMax: number;
  /** Wrong index keys per minute that one client may send for one index. */
  readonly wrongIndexKeysPerMinuteMax: number;
  /** Requests that wait for others to be done. */
  readonly waitingMax: number;
  /** How long a request may wait for others to be done, trainings, compactions and renewals excepted. */
  readonly waitMsMax: number;
  /** The mean delay of the event loop in the last second, beyond which requests are refused. */
  readonly eventLoopDelayMsMax: number;
  /** The heap in use, beyond which requests are refused, in bytes. */
  readonly heapBytesMax: number;
  /** Indexes that are kept open between requests. */
  readonly openIndexesMax: number;
  /** How long an index stays open that no request is for. */
  readonly idleIndexMsMax: number;
  /** Connections open at a time; a further one closes one of the address that has most. */
  readonly connectionsMax: number;
}

const { ["heap_size_limit"]: heapSizeLimit } = getHeapStatistics();
const resultBytesMax = 64 * 1024 * 1024;
/** Of the heap: metadata take up to twice the bytes that they arrive in, and two of the longest bodies are worked on at once. */
const bodyBytesMax = Math.min(256 * 1024 * 1024, Math.floor(heapSizeLimit / 8));

export const defaultLimits: Limits = {
  bodyBytesMax,
  itemsMax: 100_000,
  queryBytesMax: 32 * 1024 * 1024,
  bodiesBytesMax: 2 * bodyBytesMax,
  requestsMax: 128,
  longRequestsMax: 2,
  resultBytesMax,
  // Of the heap, since results are objects and texts there; the rest is for requests that are worked on.
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
