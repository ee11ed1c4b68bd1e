/**
 * Requests to a Sealdex service. Rejects with the service's `SealdexError`, or with
 * `storage_unavailable` if it does not respond in time: to this client, the service is the storage.
 * Errors contain neither the API key nor bodies.
 */

import type { HttpClientOptions } from "../api/vector-index.js";
import { pause } from "../async/backoff.js";
import { Calls } from "../async/calls.js";
import { performance } from "../async/timers.js";
import { invalid, losslessJson } from "../checks/input.js";
import { SealdexError } from "../errors.js";
import { type Request, send } from "./request.js";
import { type Failure, Retries } from "./retries.js";
import { decodeError, mediaType } from "./wire/wire.js";

const timeoutMsMax = 24 * 60 * 60 * 1000;
const maxRetriesDefault = 5;
const maxRetriesMax = 100;

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether sending the request twice has the same effect, so that it can be repeated. Default
   * false.
   */
  readonly isIdempotent?: boolean;
}

export class Connection {
  /** Running calls; each may need several requests. */
  readonly calls = new Calls();
  readonly binaryRoutes = new BinaryRoutes();
  readonly #baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #maxRetries: number;

  constructor({ baseUrl, apiKey, timeoutMs, maxRetries = maxRetriesDefault }: HttpClientOptions) {
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
    if (!(Number.isInteger(maxRetries) && maxRetries >= 0 && maxRetries <= maxRetriesMax)) {
      throw invalid(`maxRetries: expected an integer from 0 to ${maxRetriesMax}`);
    }
    this.#timeoutMs = timeoutMs ?? Infinity;
    this.#maxRetries = maxRetries;
    this.#headers = {
      "Content-Type": "application/json",
      Accept: `${mediaType}, application/json`,
      ...(apiKey !== undefined && { "X-API-Key": apiKey }),
    };
  }

  get(path: string, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#send("GET", path, undefined, { signal, isIdempotent: true });
  }

  /**
   * `body`: JSON text, or a value to encode. Throws `invalid_request` for a value that JSON would
   * change.
   */
  async post(path: string, body: object | string, options: RequestOptions): Promise<unknown> {
    return this.#send("POST", path, typeof body === "string" ? body : losslessJson(body, "request"), options);
  }

  /**
   * Returns the JSON of the response. Repeats failed requests according to `Retries`, until the
   * time limit.
   */
  async #send(
    method: Request["method"],
    path: string,
    body: string | undefined,
    { signal, isIdempotent = false }: RequestOptions,
  ): Promise<unknown> {
    const request = { method, url: this.#baseUrl + path, headers: this.#headers, body };
    const deadline = performance.now() + this.#timeoutMs;
    const retries = new Retries(this.#maxRetries, isIdempotent);
    for (;;) {
      const outcome = await exchange(request, deadline - performance.now(), signal);
      if ("json" in outcome) return outcome.json;
      const pauseMs = retries.pauseAfter(outcome);
      if (pauseMs === undefined || performance.now() + pauseMs >= deadline) throw outcome.error;
      await pause(pauseMs, signal);
    }
  }
}

async function exchange(
  request: Request,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<{ readonly json: unknown } | Failure> {
  const answer = await send(request, timeoutMs, signal);
  if ("error" in answer) return answer;
  const { status, text, retryAfter } = answer;
  const json = parseJson(text);
  if (status === 200 && json !== undefined) return { json };
  return { error: decodeError(status, json), retryAfter };
}

/** Without a trailing slash. Messages never repeat the URL, which may contain a password. */
function parseBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw invalid(
      "baseUrl: expected an http or https URL without user name and password, such as http://127.0.0.1:8000",
    );
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** Undefined for text that is not JSON, for example a proxy's error page. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

// Detects whether a service accepts vectors as base64; other implementations may accept JSON only.

class BinaryRoutes {
  #exist: boolean | undefined;

  /**
   * Calls `binary`, or `json` if the service has no binary routes. A service answers 404 both for
   * an unknown route and for an unknown index, so the first call with a 404 is repeated in JSON,
   * which decides.
   */
  async use<T>(binary: () => Promise<T>, json: () => Promise<T>): Promise<T> {
    if (this.#exist !== false) {
      try {
        const result = await binary();
        this.#exist = true;
        return result;
      } catch (error) {
        if (this.#exist === true || !(error instanceof SealdexError) || error.code !== "not_found")
          throw error;
      }
    }
    const result = await json();
    this.#exist ??= false;
    return result;
  }
}
