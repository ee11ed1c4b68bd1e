/**
 * How drivers report what went wrong between them and a server. Errors of client packages hold commands with
 * their arguments, addresses and sometimes passwords; so nothing of them is passed on but their code.
 */

import { SealdexError } from "../errors.js";

/** An operation was given up. Whether the server carried it out is not known. */
export class TimeoutError extends Error {
  readonly code = "ETIMEDOUT";
}

/** What `operation` settles to, or a TimeoutError after `timeoutMs`; the operation may then still go on. */
export async function within<T>(timeoutMs: number, operation: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError()), timeoutMs);
  });
  try {
    return await Promise.race([operation, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * `storage_unavailable`. Its cause has the `code` that `error` had, and nothing else of it. `meanings` has words for the
 * codes that its location is known to give; those that `refusals` matches say the same however often they are asked.
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

/** Whether what `unavailable` reported may be otherwise if it is tried again. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof SealdexError) || error.code !== "storage_unavailable") return false;
  return !(error.cause instanceof Error && "isRefusal" in error.cause && error.cause.isRefusal === true);
}

/** Whether this is what Node says of a server whose certificate it does not trust. */
export function isUntrustedCertificate(code: string): boolean {
  return /CERT|^UNABLE_TO_/.test(code);
}

/** What stands for the code of an error that has none. A class's name would be another one in minified code. */
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
  if (!(error instanceof Error)) return noCode;
  if ("code" in error && /^[A-Z0-9_]{2,60}$/.test(String(error.code))) return String(error.code);
  // Redis begins what it says with a code.
  const [word] = /^[A-Z]{2,30}(?= )/.exec(error.message) ?? [];
  return word ?? noCode;
}
