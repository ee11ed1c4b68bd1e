/** Options of all calls, and of calls with results. */

/** Options of every call. */
export interface CallOptions {
  /**
   * Aborts the call, which rejects with the signal's reason. An aborted change has changed nothing;
   * a change that is already being committed continues and settles as usual.
   */
  readonly signal?: AbortSignal;
}

/** Limits and form of a call's results. */
export interface ResultOptions extends CallOptions {
  /**
   * Called with the bytes of results before they are created. The call awaits the returned promise,
   * and rejects if it rejects. Embedded indexes only: a service has its own limits.
   */
  readonly reserveBytes?: (bytes: number) => Promise<void> | void;
  /** Returns metadata as stored JSON text: see `RawMetadata`. Default false. */
  readonly rawMetadata?: boolean;
}

/** Replaces `metadata` if `rawMetadata` is set. */
export interface RawMetadata {
  readonly metadataJson?: string;
}
