/** Requests to key management services over HTTP. Neither keys nor tokens nor answers get into messages. */

import { SealdexError } from "../errors.js";
import { responseText } from "../response-text.js";
import { refusal } from "./key-provider.js";

const timeoutMs = 10_000;
/** A wrapped key or a key, in JSON. */
const answerBytesMax = 256 * 1024;

export interface KeyRequest {
  /** The service, for messages. */
  readonly service: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/**
 * The JSON of the answer. Throws `wrong_index_key` if the service refuses what it was given, `forbidden` if it refuses the
 * caller, `not_found` if there is no such key, else `storage_unavailable`.
 */
export async function postKeyRequest({ service, url, headers, body }: KeyRequest): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
      // A token must not follow to another host.
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.ok) return JSON.parse(await responseText(response, answerBytesMax, service)) as unknown;
  } catch (cause) {
    throw new SealdexError("storage_unavailable", `${service}: it did not respond`, { cause });
  }
  await response.body?.cancel();
  throw failure(service, response.status);
}

function failure(service: string, status: number): SealdexError {
  if (status === 400) return refusal(service, "wrong_index_key");
  if (status === 401 || status === 403) return refusal(service, "forbidden");
  if (status === 404) return refusal(service, "not_found");
  return new SealdexError("storage_unavailable", `${service}: it answered ${status}`);
}

/**
 * The address of a service, without a "/" at its end. Throws `invalid_request` unless it is https: a token must not travel in clear,
 * except to this machine. `where`: names the address in messages.
 */
export function checkServiceUrl(address: unknown, where: string): string {
  const url = typeof address === "string" && URL.canParse(address) ? new URL(address) : undefined;
  const isLocal = url !== undefined && ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLocal)) {
    return url.origin + url.pathname.replace(/\/$/, "");
  }
  throw new SealdexError("invalid_request", `${where}: expected an https URL`);
}

/** A token for a header. Throws `forbidden` for what is none: `fetch` would refuse it, and quote it. */
export function checkToken(token: unknown, service: string): string {
  if (typeof token === "string" && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new SealdexError(
    "forbidden",
    `${service}: expected a token of printable ASCII characters without spaces`,
  );
}

/** A text of an answer. Throws `storage_unavailable` if it is not there: then something else answered. */
export function textAt(answer: unknown, path: readonly string[], service: string): string {
  let value = answer;
  for (const name of path) {
    value = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  }
  if (typeof value === "string") return value;
  throw new SealdexError("storage_unavailable", `${service}: expected ${path.join(".")} in its answer`);
}
