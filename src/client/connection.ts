/**
 * Requests to a Sealdex service. Rejects with the `SealdexError` that the service answered, or with
 * `storage_unavailable` if there was no answer, or none in time: from here, the service is where the index is stored. API
 * key and bodies appear in no error.
 */

import { Calls } from "../calls.js";
import { SealdexError } from "../errors.js";
import { invalid, jsonText } from "../check-input.js";
import type { HttpClientOptions } from "../vector-index.js";
import { decodeError, mediaType } from "../wire.js";

const timeoutMsMax = 24 * 60 * 60 * 1000;

/** Requests that are sent again while the service loads an embedding model: for 2 minutes if it says 2 seconds each time. */
const loadingAttemptsMax = 60;
/** In seconds: if the service does not say how long to wait, and the longest that is waited. */
const retryAfterDefault = 2;
const retryAfterMax = 10;

export class Connection {
  /** The calls of the client; each may need several requests. */
  readonly calls = new Calls();
  readonly #baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number | undefined;

  constructor({ baseUrl, apiKey, timeoutMs }: HttpClientOptions) {
    this.#baseUrl = parseBaseUrl(baseUrl);
    if (apiKey !== undefined && !(typeof apiKey === "string" && /^[\x21-\x7e]+$/.test(apiKey))) {
      throw invalid("apiKey: expected printable ASCII characters without spaces");
    }
    if (
      timeoutMs !== undefined &&
      !(Number.isFinite(timeoutMs) && timeoutMs >= 1 && timeoutMs <= timeoutMsMax)
    ) {
      throw invalid(`timeoutMs: expected a number from 1 to ${timeoutMsMax}`);
    }
    this.#timeoutMs = timeoutMs;
    this.#headers = {
      "Content-Type": "application/json",
      Accept: `${mediaType}, application/json`,
      ...(apiKey !== undefined && { "X-API-Key": apiKey }),
    };
  }

  get(path: string, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#send("GET", path, signal);
  }

  /** `body`: JSON text, or a value to make it from. */
  async post(path: string, body: object | string, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#send("POST", path, signal, typeof body === "string" ? body : jsonText(body, "request"));
  }

  /** Sends again what the service answers with `model_loading`: nothing has been done then. */
  async #send(
    method: string,
    path: string,
    signal: AbortSignal | undefined,
    body?: string,
  ): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      const { status, text, retryAfter } = await this.#request(method, path, signal, body);
      const json = parseJson(text);
      if (status === 200 && json !== undefined) return json;
      const error = decodeError(status, json);
      if (error.code !== "model_loading" || attempt === loadingAttemptsMax) throw error;
      await wait(secondsToWait(retryAfter), signal);
    }
  }

  async #request(
    method: string,
    path: string,
    signal: AbortSignal | undefined,
    body: string | undefined,
  ): Promise<{ status: number; text: string; retryAfter: string | null }> {
    signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal?.addEventListener("abort", abort);
    const timer = this.#timeoutMs === undefined ? undefined : setTimeout(abort, this.#timeoutMs);
    try {
      // A redirect is not followed: it would take the index key to wherever it points.
      const response = await fetch(this.#baseUrl + path, {
        method,
        headers: this.#headers,
        body,
        redirect: "manual",
        signal: controller.signal,
      });
      const retryAfter = response.headers.get("Retry-After");
      return { status: response.status, text: await response.text(), retryAfter };
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      const reason = controller.signal.aborted ? `within ${this.#timeoutMs} ms` : `(${reasonOf(cause)})`;
      throw new SealdexError(
        "storage_unavailable",
        `${method} ${this.#baseUrl}${path}: the service did not respond ${reason}`,
        { cause },
      );
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }
}

/** Browsers show the header only if the service lets them. A date is as good as nothing: clocks differ. */
function secondsToWait(retryAfter: string | null): number {
  return /^\d+$/.test(retryAfter ?? "") ? Math.min(Number(retryAfter), retryAfterMax) : retryAfterDefault;
}

/** Rejects with the signal's reason as soon as it aborts. */
function wait(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, 1000 * seconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/** The system's code behind a failed `fetch`, such as ECONNREFUSED, or else what its innermost error says; browsers say little. */
function reasonOf(error: unknown): string {
  let reason = "no reason given";
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { code?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]+$/.test(code)) return code;
    // Of a few plain words: no URL, which may hold a password.
    if (/^[A-Za-z' -]{1,60}$/.test(cause.message)) reason = cause.message;
  }
  return reason;
}

/** Without a slash at the end. The message never repeats the URL, which may hold a password. */
function parseBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw invalid(
      "baseUrl: expected an http or https URL without user name and password, such as http://127.0.0.1:8000",
    );
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** Undefined for text that is not JSON, such as a proxy's error page. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
