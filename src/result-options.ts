/** What every call can be given, and what calls with results can be given. */

/** What every call can be given. */
export interface CallOptions {
  /**
   * Ends the call when it aborts: the call rejects with the signal's reason. A call that changes something has then
   * changed nothing; one whose change is already being made goes on, and settles as if nothing had happened.
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

/** What an item has in place of `metadata` if `rawMetadata` is set. */
export interface RawMetadata {
  readonly metadataJson?: string;
}
