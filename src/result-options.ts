/** Options of every call. */
export interface CallOptions {
  /**
   * Aborts the call, which rejects with the signal's reason. An aborted change has changed nothing;
   * a change that is already being committed continues and settles as usual.
   */
  readonly signal?: AbortSignal;
}
