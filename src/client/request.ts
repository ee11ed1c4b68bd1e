/** One request to a service: its answer, or why there is none. API key and bodies appear in no error. */

import { SealdexError } from "../errors.js";
import { responseText } from "../response-text.js";
import { whenAborted } from "../when-aborted.js";
import { isError } from "../value-kinds.js";
import { timers } from "../real-timers.js";

export interface Request {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** The header of that name. Browsers show it only if the service lets them. */
  readonly retryAfter: string | null;
}

export interface NoAnswer {
  readonly error: SealdexError;
  /** Whether no connection was made, so that the service cannot have done anything. */
  readonly isUnsent: boolean;
  /** Whether sending it again may succeed: not if this side refuses the connection. */
  readonly isTransient: boolean;
}

/**
 * A service lets the results of a request take 64 MiB of memory, unless it is set up for more, and as JSON they may be several times as
 * long. A text of JavaScript is not much longer than this.
 */
const answerBytesMax = 256 * 1024 * 1024;

/** `timeoutMs`: Infinity for no limit. Rejects with the signal's reason when it aborts. */
export async function send(
  { method, url, headers, body }: Request,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Answer | NoAnswer> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const abort = () => controller.abort();
  const stopListening = whenAborted(signal, abort);
  const timer = timeoutMs === Infinity ? undefined : timers.setTimeout(abort, Math.max(0, timeoutMs));
  try {
    // A redirect is not followed: it would take the index key to wherever it points.
    const response = await fetch(url, {
      method,
      headers,
      body,
      redirect: "manual",
      signal: controller.signal,
    });
    const retryAfter = response.headers.get("Retry-After");
    const text = await responseText(response, answerBytesMax, `${method} ${url}`);
    return { status: response.status, text, retryAfter };
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    if (cause instanceof SealdexError) throw cause;
    const isLate = controller.signal.aborted;
    const reason = isLate ? "no answer in time" : reasonOf(cause);
    const message = `${method} ${url}: the service did not respond ${isLate ? "in time" : `(${reason})`}`;
    return {
      error: new SealdexError("storage_unavailable", message, { cause }),
      isUnsent: unsent.test(reason),
      isTransient: !refusal.test(reason),
    };
  } finally {
    timers.clearTimeout(timer);
    stopListening();
  }
}

/** Codes of Node.js, and of Bun, for connections that were not made. */
const unsent =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused)$/;
/** Of certificates that are not trusted, and of a port that `fetch` does not connect to. */
const refusal = /CERT|^UNABLE_TO_|^ERR_(SSL|TLS)_|^bad port$/;

/** The system's code behind a failed `fetch`, such as ECONNREFUSED, or else what its innermost error says; browsers say little. */
function reasonOf(error: unknown): string {
  let reason = "no reason given";
  for (let cause = error; isError(cause); cause = cause.cause) {
    const { code } = cause as { code?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Za-z0-9_]+$/.test(code)) return code;
    // Of a few plain words: no URL, which may hold a password.
    if (/^[A-Za-z' -]{1,60}$/.test(cause.message)) reason = cause.message;
  }
  return reason;
}
