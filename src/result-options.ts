/** Options of every call, and of calls with results. */

/** Options of every call. */
export interface CallOptions {
  /**
   * Ends the call when it aborts: the call rejects with the signal's reason. A call that changes something has then
   * changed nothing; one whose change is already being committed continues, and settles as usual.
   */
  readonly signal?: AbortSignal;
}

/** What the results of a call may take, and their form. */
export interface ResultOptions extends CallOptions {
  /**
   * Called before some of the results are made, with the bytes that these take in memory. The call waits for what it
   * returns, and rejects with what it throws. Embedded indexes only: a service has limits of its own.
   */
  readonly reserveBytes?: (bytes: number) => Promise<void> | void;
  /** Metadata as the JSON text that is stored, for callers that pass them on: see `RawMetadata`. Default false. */
  readonly rawMetadata?: boolean;
}

/** Replaces `metadata` of an item if `rawMetadata` is set. */
export interface RawMetadata {
  readonly metadataJson?: string;
}
