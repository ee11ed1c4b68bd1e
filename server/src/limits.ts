/** What one request, and all of them together, may take of the service. */

export interface Limits {
  /** How long a client may take to send the headers of a request. */
  readonly headersMsMax: number;
  /** How long a client may take to send a request, its body included. */
  readonly requestMsMax: number;
  /** Connections open at a time; further ones are closed at once. */
  readonly connectionsMax: number;
}

export const defaultLimits: Limits = {
  headersMsMax: 10_000,
  requestMsMax: 60_000,
  connectionsMax: 2000,
};
