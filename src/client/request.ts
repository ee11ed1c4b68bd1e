/** Sends one request. Errors contain neither the API key nor bodies. */

import { SealdexError } from "../errors.js";
import { responseText } from "../checks/response-text.js";
import { whenAborted } from "../async/abort.js";
import { isError } from "../checks/value-kinds.js";
import { timers } from "../async/timers.js";

export interface Request {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** Browsers show this header only if the service exposes it. */
  readonly retryAfter: string | null;
}

export interface NoAnswer {
  readonly error: SealdexError;
  /** Whether the request certainly never reached the service. */
  readonly isUnsent: boolean;
  /** Whether repeating the request may help; not if this side refuses the connection. */
  readonly isTransient: boolean;
}

/**
 * A service's default limit is 64 MiB of memory for the results of a request. As JSON, they may be
 * several times as long; JavaScript strings are not much longer than that.
 */
const answerBytesMax = 256 * 1024 * 1024;

/** `timeoutMs`: Infinity for no limit. Rejects with the signal's reason on abort. */
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
    // A redirect would send the index key to another address.
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
    const reason = isLate ? "no response in time" : reasonOf(cause);
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

/** Codes of Node.js and Bun for failed connection attempts. */
const unsent =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused)$/;
/** Untrusted certificates, and ports that `fetch` refuses. */
const refusal = /CERT|^UNABLE_TO_|^ERR_(SSL|TLS)_|^bad port$/;

/** The system's code, for example ECONNREFUSED, or else the message of the innermost error. */
function reasonOf(error: unknown): string {
  let reason = "no reason given";
  for (let cause = error; isError(cause); cause = cause.cause) {
    const { code } = cause as { code?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Za-z0-9_]+$/.test(code)) return code;
    // Only short plain messages: a URL could contain a password.
    if (/^[A-Za-z' -]{1,60}$/.test(cause.message)) reason = cause.message;
  }
  return reason;
}
