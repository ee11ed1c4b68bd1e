/** What one request, and all of them together, may take of the service. */

import { getHeapStatistics } from "node:v8";
import { bodyBytesMax, queryBytesMax } from "sealdex/wire";

export interface Limits {
  /** The longest body of an upsert. */
  readonly bodyBytesMax: number;
  /** The longest body of what else has vectors, filters or ids. */
  readonly queryBytesMax: number;
  /** Bodies that are received and worked on at once, in bytes. */
  readonly bodiesBytesMax: number;
  /** Requests that are worked on at once. */
  readonly requestsMax: number;
  /** Trainings and compactions at once. */
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
  /** Connections open at a time; further ones are closed at once. */
  readonly connectionsMax: number;
}

const { ["heap_size_limit"]: heapBytesMax } = getHeapStatistics();
const resultBytesMax = 64 * 1024 * 1024;

export const defaultLimits: Limits = {
  bodyBytesMax,
  queryBytesMax,
  bodiesBytesMax: 2 * bodyBytesMax,
  requestsMax: 128,
  longRequestsMax: 2,
  resultBytesMax,
  // Of the heap, since results are objects and texts there; the rest is for requests that are worked on.
  resultsBytesMax: Math.max(resultBytesMax, heapBytesMax / 8),
  workMsMax: 60_000,
  stalledMsMax: 30_000,
  headersMsMax: 10_000,
  requestMsMax: 60_000,
  connectionsMax: 2000,
};
