/** What one request, and all of them together, may take of the service. */

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
  /** How long a client may take to send the headers of a request. */
  readonly headersMsMax: number;
  /** How long a client may take to send a request, its body included. */
  readonly requestMsMax: number;
  /** Connections open at a time; further ones are closed at once. */
  readonly connectionsMax: number;
}

export const defaultLimits: Limits = {
  bodyBytesMax,
  queryBytesMax,
  bodiesBytesMax: 2 * bodyBytesMax,
  requestsMax: 128,
  longRequestsMax: 2,
  headersMsMax: 10_000,
  requestMsMax: 60_000,
  connectionsMax: 2000,
};
