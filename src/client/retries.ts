/**
 * Decides which failed requests are repeated, and when.
 *
 * A request that certainly had no effect is always repeated: the connection was refused, or the
 * service refused it before starting (a rate limit, overload, a loading model). If the outcome is
 * unknown (a lost connection, unresponsive storage, a proxy's 502), only idempotent requests are.
 */

import type { ErrorCode, SealdexError } from "../errors.js";
import { backoffMs } from "../async/backoff.js";

/** Codes of requests that the service refuses before it does anything. */
const refusals: ReadonlySet<ErrorCode> = new Set(["rate_limited", "overloaded", "model_loading"]);

const firstPauseMs = 200;
const pauseMsMax = 5000;
/** Longest pause in seconds that a service may demand. The caller decides about longer ones. */
const retryAfterMax = 60;
/** Requests while the service loads an embedding model: 2 minutes at 2 seconds each. */
const loadingRequestsMax = 60;
/** Default pause in seconds, and the longest one. */
const loadingSeconds = 2;
const loadingSecondsMax = 10;

export interface Failure {
  readonly error: SealdexError;
  readonly retryAfter?: string | null;
  readonly isUnsent?: boolean;
  readonly isTransient?: boolean;
}

/** The failed attempts of one request. */
export class Retries {
  readonly #max: number;
  readonly #isIdempotent: boolean;
  #failed = 0;
  #loading = 0;

  /** `max`: number of repetitions, not counting those while a model is loading. */
  constructor(max: number, isIdempotent: boolean) {
    this.#max = max;
    this.#isIdempotent = isIdempotent;
  }

  /** Milliseconds until the request is repeated; undefined if it is not. */
  pauseAfter({
    error: { code },
    retryAfter,
    isUnsent = false,
    isTransient = true,
  }: Failure): number | undefined {
    const seconds = secondsOf(retryAfter);
    if (code === "model_loading") {
      if (++this.#loading === loadingRequestsMax) return undefined;
      return 1000 * Math.min(seconds ?? loadingSeconds, loadingSecondsMax);
    }
    const isSafe = isUnsent || refusals.has(code) || (code === "storage_unavailable" && this.#isIdempotent);
    if (!isSafe || !isTransient || this.#failed === this.#max || (seconds ?? 0) > retryAfterMax)
      return undefined;
    // Random, so that clients with the same `Retry-After` do not return together.
    return 1000 * (seconds ?? 0) + backoffMs(this.#failed++, firstPauseMs, pauseMsMax);
  }
}

/** Dates in Retry-After are ignored, because clocks differ. */
function secondsOf(retryAfter: string | null | undefined): number | undefined {
  return /^\d+$/.test(retryAfter ?? "") ? Number(retryAfter) : undefined;
}
