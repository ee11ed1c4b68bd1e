/**
 * Retries for every operation of a location, so that dropped connections, restarting servers and
 * throttled requests are not reported.
 *
 * An attempt without an answer in time counts as failed, and its driver gets the abort signal.
 * Attempts repeat after a random pause of up to twice the last, until the operation's time limit.
 * Reads and lists are repeated as they are. A failed create may have happened, so the blob decides:
 * our bytes, won; other bytes, lost; none, again. A failed delete may have happened too, and a
 * second one could remove a blob that another writer has created since, so a delete is sent once.
 */

import { SealdexError } from "../errors.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import { backoffMs, pause } from "../async/backoff.js";
import { whenAborted } from "../async/abort.js";
import { withAbsenceCheckOf } from "./absence.js";
import type { BlobStore, OperationOptions } from "./blob-store.js";
import { holdsBytes } from "./holds-bytes.js";
import { performance, timers } from "../async/timers.js";
import { none, own } from "../checks/value-kinds.js";

/** Options of `withRetries`. */
export interface RetryOptions {
  /**
   * Time limit of one operation in milliseconds, including all attempts; an attempt may take a
   * quarter of it, a delete all. Adds 1 ms per KiB read or written, and 20 ms per deleted key.
   * Default 60,000.
   */
  readonly timeoutMs?: number;
  /** Whether to try again after this error. Default: after `SealdexError`s with the code `storage_unavailable`. */
  readonly isTransient?: (error: unknown) => boolean;
}

const retryOptions = optionNames<RetryOptions>("withRetries", { timeoutMs: true, isTransient: true });

export const storageTimeoutMsDefault = 60_000;
const attemptShare = 1 / 4;
const deleteMsPerKey = 20;
const bytesPerMs = 1024;
const firstPauseMs = 50;
const pauseMsMax = 5000;

/** `store` with time-outs, and with retries if they are safe. Closing it closes `store`. */
export function withRetries(store: BlobStore, retries: RetryOptions = {}): BlobStore {
  const { timeoutMs = storageTimeoutMsDefault, isTransient = isUnavailable } = takeOptions(
    retries,
    retryOptions,
  );

  async function run<T>(
    what: string,
    extraMs: number,
    signal: AbortSignal | undefined,
    operation: (attempt: OperationOptions) => Promise<T>,
  ): Promise<T> {
    const deadline = performance.now() + timeoutMs + extraMs;
    let reason: unknown;
    for (let failed = 0; ; failed++) {
      try {
        const attemptMs = Math.min(timeoutMs * attemptShare + extraMs, deadline - performance.now());
        return await limited(what, attemptMs, signal, operation);
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        const pauseMs = backoffMs(failed, firstPauseMs, pauseMsMax);
        const isTimeout = timeouts.has(error as object);
        if (!isTransient(error) && !isTimeout) throw error;
        // The error of an earlier attempt says more than running out of time.
        if (!isTimeout) reason = error;
        if (performance.now() + pauseMs >= deadline) throw reason ?? error;
        await pause(pauseMs, signal);
      }
    }
  }

  const retried: BlobStore = {
    read(key, range, given = none) {
      const { signal } = own(given);
      const extraMs = range.length / bytesPerMs;
      return run(`read ${key}`, extraMs, signal, (attempt) => store.read(key, range, attempt));
    },

    create(key, bytes, given = none) {
      const { signal } = own(given);
      let unknown = false;
      return run(`create ${key}`, bytes.length / bytesPerMs, signal, async (attempt) => {
        if (unknown) {
          const won = await holdsBytes(store, key, bytes, attempt);
          if (won !== null) return won;
        }
        const before = unknown;
        unknown = true;
        const created = await store.create(key, bytes, attempt);
        // An earlier attempt may have succeeded meanwhile.
        return created || (before && (await holdsBytes(store, key, bytes, attempt)) === true);
      });
    },

    list(prefix, given = none) {
      const { limit, after, signal } = own(given);
      const listOptions = { ...(limit !== undefined && { limit }), ...(after !== undefined && { after }) };
      return run(`list ${prefix}`, 0, signal, async (attempt) =>
        store.list(prefix, Object.assign(attempt, listOptions)),
      );
    },

    delete(keys, given = none) {
      const { signal } = own(given);
      const what = `delete ${keys.length} keys`;
      const attemptMs = timeoutMs + deleteMsPerKey * keys.length;
      return limited(what, attemptMs, signal, async (attempt) => store.delete(keys, attempt));
    },

    close: () => store.close(),
  };
  return withAbsenceCheckOf(retried, store);
}

/**
 * Errors of attempts that timed out. They are transient even if the driver's own errors are not.
 */
const timeouts = new WeakSet<object>();

/** Runs one attempt; gives up when the time is over or the signal aborts. */
function limited<T>(
  what: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  operation: (attempt: OperationOptions) => Promise<T>,
): Promise<T> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    let controller: AbortController | undefined;
    let givenUp: { readonly reason: unknown } | undefined;
    const attempt: OperationOptions = {
      // Created only for drivers that use it: it costs more than reading a small file.
      get signal() {
        controller ??= new AbortController();
        if (givenUp !== undefined) controller.abort(givenUp.reason);
        return controller.signal;
      },
    };
    Object.setPrototypeOf(attempt, null);
    const settle = <V>(give: (value: V) => void, value: V) => {
      timers.clearTimeout(timer);
      stopListening();
      give(value);
    };
    const giveUp = (reason: unknown) => {
      givenUp = { reason };
      settle(reject, reason);
      controller?.abort(reason);
    };
    const timer = timers.setTimeout(() => {
      const error = new SealdexError(
        "storage_unavailable",
        `storage: ${what} timed out after ${Math.round(timeoutMs)} ms`,
      );
      timeouts.add(error);
      giveUp(error);
    }, timeoutMs);
    const stopListening = whenAborted(signal, () => giveUp(signal?.reason));
    begin(operation, attempt).then(
      (value) => settle(resolve, value),
      (error: unknown) => settle(reject, error),
    );
  });
}

/** A driver may throw instead of returning a promise that rejects. */
function begin<T>(
  operation: (attempt: OperationOptions) => Promise<T>,
  attempt: OperationOptions,
): Promise<T> {
  try {
    return operation(attempt);
  } catch (error) {
    return Promise.reject(error);
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof SealdexError && error.code === "storage_unavailable";
}
