/** Options of every call. */
export interface CallOptions {
  /**
   * Ends the call when it aborts: the call rejects with the signal's reason. A call that changes something has then
   * changed nothing; one whose change is already being committed continues, and settles as usual.
   */
  readonly signal?: AbortSignal;
}
