/** Requests to key management services over HTTP. Messages contain no keys, tokens or responses. */

import { SealdexError } from "../errors.js";
import { responseText } from "../checks/response-text.js";
import { refusal } from "./key-provider.js";

const timeoutMs = 10_000;
/** A key or wrapped key in JSON is shorter. */
const answerBytesMax = 256 * 1024;

export interface KeyRequest {
  /** Name of the service in messages. */
  readonly service: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/**
 * Returns the JSON of the response. Throws `wrong_index_key` if the service rejects the wrapped
 * key, `forbidden` if it rejects the caller, `not_found` if no such key, otherwise
 * `storage_unavailable`.
 */
export async function postKeyRequest({ service, url, headers, body }: KeyRequest): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
      // A redirect would send the token to another host.
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.ok) return JSON.parse(await responseText(response, answerBytesMax, service)) as unknown;
  } catch (cause) {
    throw new SealdexError("storage_unavailable", `${service}: no response`, { cause });
  }
  await response.body?.cancel();
  throw failure(service, response.status);
}

function failure(service: string, status: number): SealdexError {
  if (status === 400) return refusal(service, "wrong_index_key");
  if (status === 401 || status === 403) return refusal(service, "forbidden");
  if (status === 404) return refusal(service, "not_found");
  return new SealdexError("storage_unavailable", `${service}: status ${status}`);
}

/**
 * Returns the address of a service without a trailing "/". Throws `invalid_request` unless it is
 * https, since tokens must not travel in clear, or this machine. `where` names the address in
 * messages.
 */
export function checkServiceUrl(address: unknown, where: string): string {
  const url = typeof address === "string" && URL.canParse(address) ? new URL(address) : undefined;
  const isLocal = url !== undefined && ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLocal)) {
    return url.origin + url.pathname.replace(/\/$/, "");
  }
  throw new SealdexError("invalid_request", `${where}: expected an https URL`);
}

/** Checks that a token fits a header. Throws `forbidden`: `fetch` would quote an invalid one. */
export function checkToken(token: unknown, service: string): string {
  if (typeof token === "string" && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new SealdexError(
    "forbidden",
    `${service}: expected a token of printable ASCII characters without spaces`,
  );
}

/**
 * Reads a string from a response. Throws `storage_unavailable` if it is absent, since then another
 * service responded.
 */
export function textAt(answer: unknown, path: readonly string[], service: string): string {
  let value = answer;
  for (const name of path) {
    value = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  }
  if (typeof value === "string") return value;
  throw new SealdexError("storage_unavailable", `${service}: expected ${path.join(".")} in its answer`);
}
