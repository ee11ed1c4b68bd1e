/**
 * Which failed requests are sent again, and when.
 *
 * A request that the service certainly did nothing for is always sent again: its connection was refused, or the service refused it
 * before it began (a rate limit, overload, a model that is being loaded). If nobody knows whether it was done (a lost
 * connection, storage that did not respond, a proxy's 502), only what can be done twice is.
 */

import type { ErrorCode, SealdexError } from "../errors.js";
import { backoffMs } from "../pause.js";

/** What the service refuses before it does anything. */
const refusals: ReadonlySet<ErrorCode> = new Set(["rate_limited", "overloaded", "model_loading"]);

const firstPauseMs = 200;
const pauseMsMax = 5000;
/** In seconds: the longest that a service may ask to wait for. A longer wait is the caller's decision. */
const retryAfterMax = 60;
/** Requests while the service loads an embedding model: for 2 minutes if it says 2 seconds each time. */
const loadingRequestsMax = 60;
/** If the service does not say how long to wait, and the longest that is waited. */
const loadingSeconds = 2;
const loadingSecondsMax = 10;

export interface Failure {
  readonly error: SealdexError;
  /** The header `Retry-After`. */
  readonly retryAfter?: string | null;
  readonly isUnsent?: boolean;
  readonly isTransient?: boolean;
}

/** The failures of one request. */
export class Retries {
  readonly #max: number;
  readonly #isIdempotent: boolean;
  #failed = 0;
  #loading = 0;

  /** `max`: how often the request is sent again, not counting while a model is loaded. */
  constructor(max: number, isIdempotent: boolean) {
    this.#max = max;
    this.#isIdempotent = isIdempotent;
  }

  /** How long to wait, in milliseconds, before the request is sent again; undefined if it is not. */
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
    // Clients that were told the same time do not return together.
    return 1000 * (seconds ?? 0) + backoffMs(this.#failed++, firstPauseMs, pauseMsMax);
  }
}

/** A date is as good as nothing: clocks differ. */
function secondsOf(retryAfter: string | null | undefined): number | undefined {
  return /^\d+$/.test(retryAfter ?? "") ? Number(retryAfter) : undefined;
}
