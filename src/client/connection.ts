/**
 * Requests to a Sealdex service. Rejects with the `SealdexError` that the service answered, or with
 * `storage_unavailable` where no answer came: from here, the service is where the index is stored. API key and bodies
 * appear in no error.
 */

import { SealdexError } from "../errors.js";
import type { HttpClientOptions } from "../vector-index.js";
import { decodeError } from "../wire.js";

export class Connection {
  readonly #baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ baseUrl, apiKey }: HttpClientOptions) {
    this.#baseUrl = parseBaseUrl(baseUrl);
    if (apiKey !== undefined && !(typeof apiKey === "string" && /^[\x21-\x7e]+$/.test(apiKey))) {
      throw new SealdexError("invalid_request", "apiKey: expected printable ASCII characters without spaces");
    }
    this.#headers = {
      "Content-Type": "application/json",
      ...(apiKey !== undefined && { "X-API-Key": apiKey }),
    };
  }

  get(path: string): Promise<unknown> {
    return this.#send("GET", path);
  }

  /** `body`: JSON text, or a value to make it from. Where `signal` aborts, rejects with its reason. */
  post(path: string, body: object | string, signal?: AbortSignal): Promise<unknown> {
    return this.#send("POST", path, typeof body === "string" ? body : JSON.stringify(body), signal);
  }

  async #send(method: string, path: string, body?: string, signal?: AbortSignal): Promise<unknown> {
    let status: number;
    let text: string;
    try {
      // A redirect is not followed: it would take the index key to wherever it points.
      const response = await fetch(this.#baseUrl + path, {
        method,
        headers: this.#headers,
        body,
        redirect: "manual",
        signal,
      });
      status = response.status;
      text = await response.text();
    } catch (cause) {
      signal?.throwIfAborted();
      throw new SealdexError("storage_unavailable", `${method} ${path}: the service did not answer`, {
        cause,
      });
    }
    const json = parseJson(text);
    if (status !== 200 || json === undefined) throw decodeError(status, json);
    return json;
  }
}

/** Without a slash at the end. The message never repeats the URL, which may hold a password. */
function parseBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw new SealdexError(
      "invalid_request",
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
