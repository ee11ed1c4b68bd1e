/**
 * How drivers report failures between them and a server. Errors of client packages hold commands with
 * their arguments, addresses and sometimes passwords; so only their code is passed on.
 */

import { SealdexError } from "../errors.js";
import { isError } from "../value-kinds.js";
import { timers } from "../real-timers.js";

/** An operation timed out. Whether the server carried it out is not known. */
export class TimeoutError extends Error {
  readonly code = "ETIMEDOUT";
}

/** The result of `operation`, or a TimeoutError after `timeoutMs`; the operation may then still continue. */
export async function within<T>(timeoutMs: number, operation: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = timers.setTimeout(() => reject(new TimeoutError()), timeoutMs);
  });
  try {
    return await Promise.race([operation, timeout]);
  } finally {
    timers.clearTimeout(timer);
  }
}

/**
 * `storage_unavailable`. Its cause has the `code` of `error`, and nothing else of it. `meanings` explains the codes of
 * this location; codes that `refusals` matches are permanent.
 * A SealdexError is returned as it is.
 */
export function unavailable(
  location: string,
  operation: string,
  error: unknown,
  meanings: Readonly<Record<string, string>>,
  refusals: RegExp,
): SealdexError {
  if (error instanceof SealdexError) return error;
  const code = codeOf(error);
  const meaning = meanings[code] ?? networkMeanings[code];
  const isRefusal = refusals.test(code) || isUntrustedCertificate(code);
  return new SealdexError(
    "storage_unavailable",
    `${location} storage: ${operation} failed with ${code}${meaning === undefined ? "" : `: ${meaning}`}`,
    { cause: Object.assign(new Error(code), { code, isRefusal }) },
  );
}

/** Whether a retry of what `unavailable` reported may succeed. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof SealdexError) || error.code !== "storage_unavailable") return false;
  return !(isError(error.cause) && "isRefusal" in error.cause && error.cause.isRefusal === true);
}

/** Whether Node reports this code for a certificate that it does not trust. */
export function isUntrustedCertificate(code: string): boolean {
  return /CERT|^UNABLE_TO_/.test(code);
}

/** The code of an error that has none. A class's name would differ in minified code. */
export const noCode = "UNKNOWN";

const networkMeanings: Readonly<Record<string, string>> = {
  ECONNREFUSED: "no server answers there",
  ECONNRESET: "the connection was lost",
  [noCode]: "the client library gave no code",
  ENOTFOUND: "there is no host of that name",
  ETIMEDOUT: "the server did not answer in time",
};

/** The system's or the server's code, or `noCode`. */
export function codeOf(error: unknown): string {
  if (!isError(error)) return noCode;
  if (/^[A-Z0-9_]{2,60}$/.test(String(error.code))) return String(error.code);
  // Redis begins its messages with a code.
  const [word] = /^[A-Z]{2,30}(?= )/.exec(error.message) ?? [];
  return word ?? noCode;
}
