/**
 * Failures between a driver and its server. Errors of client packages contain commands with their
 * arguments, addresses and sometimes passwords, so only their code is passed on.
 */

import { timers } from "../async/timers.js";
import { isError } from "../checks/value-kinds.js";
import { SealdexError } from "../errors.js";

/** An operation timed out. The server may have executed it. */
export class TimeoutError extends Error {
  readonly code = "ETIMEDOUT";
}

/** The result of `operation`, or a TimeoutError after `timeoutMs`; the operation may then still continue. */
export async function withTimeout<T>(timeoutMs: number, operation: Promise<T>): Promise<T> {
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
 * Returns a `storage_unavailable` error whose cause has only the `code` of `error`. `meanings`
 * explains the codes of this location; codes that match `refusals` are permanent. A SealdexError is
 * returned unchanged.
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
  const isRefusal = refusals.test(code) || isRefusedHandshake(code);
  return new SealdexError(
    "storage_unavailable",
    `${location} storage: ${operation} failed with ${code}${meaning === undefined ? "" : `: ${meaning}`}`,
    { cause: Object.assign(new Error(code), { code, isRefusal }) },
  );
}

/** Whether retrying may help after an error of `unavailable`. */
export function isTransientServerError(error: unknown): boolean {
  if (!(error instanceof SealdexError) || error.code !== "storage_unavailable") return false;
  return !(isError(error.cause) && "isRefusal" in error.cause && error.cause.isRefusal === true);
}

/** Whether it is the code of a certificate that Node does not trust, or of a server without TLS. */
function isRefusedHandshake(code: string): boolean {
  return code === noTls || /CERT|^UNABLE_TO_/.test(code);
}

/** Code of a server that answers in plain text where TLS is expected. */
export const noTls = "NO_TLS";

/** Node's code depends on whether it was reading or writing; OpenSSL's words do not. */
function isWithoutTls(error: Error): boolean {
  return error.message.includes("wrong version number");
}

/** Code of errors without one. A class name would differ in minified code. */
export const noCode = "UNKNOWN";

const networkMeanings: Readonly<Record<string, string>> = {
  ECONNREFUSED: "no server answers there",
  ECONNRESET: "the connection was lost",
  [noCode]: "the client library gave no code",
  [noTls]: "the server does not offer TLS",
  ENOTFOUND: "unknown host name",
  ETIMEDOUT: "the server did not answer in time",
};

/** The system's or the server's code, or `noCode`. */
export function codeOf(error: unknown): string {
  if (!isError(error)) return noCode;
  if (isWithoutTls(error)) return noTls;
  if (/^[A-Z0-9_]{2,60}$/.test(String(error.code))) return String(error.code);
  // Redis begins its messages with a code.
  const [word] = /^[A-Z]{2,30}(?= )/.exec(error.message) ?? [];
  return word ?? noCode;
}

// A request that an object service did not fulfil, reduced to a code, a status and a hint. Texts of
// services are dropped, since they repeat access keys and signed data.

export interface StorageFailure {
  /** Our own text, or a foreign code that passed `codeFrom`. */
  readonly reason: string;
  /** HTTP status, if there was a response. */
  readonly status?: number;
  /** Whether the request had no effect, and repeating it would have none. */
  readonly isRefusal?: boolean;
}

const hints: Record<string, string> = {
  NoSuchBucket: "no such bucket",
  InvalidAccessKeyId: "the service does not know the access key",
  SignatureDoesNotMatch: "is the secret key right?",
  AccessDenied: "may these credentials list, read, write and delete here?",
  RequestTimeTooSkewed: "is the clock of this machine right?",
  PermanentRedirect: "the bucket is in another region",
  AuthorizationHeaderMalformed: "is the region right?",
  ECONNREFUSED: "nothing listens at the endpoint",
  ENOTFOUND: "unknown host name",
  [noTls]: "the server does not offer TLS: does the endpoint begin with http://?",
  NoRegion: "no region is configured",
  CredentialsProviderError: "no credentials are configured",
};

export class ServiceError extends Error {
  override readonly name = "ServiceError";
  /** The original error. */
  readonly code: string;
  readonly status: number | undefined;
  readonly isRefusal: boolean;

  constructor({ reason, status, isRefusal }: StorageFailure) {
    const hint = Object.hasOwn(hints, reason) ? hints[reason] : undefined;
    const details = [
      ...(status === undefined ? [] : [`status ${status}`]),
      ...(hint === undefined ? [] : [hint]),
    ];
    super(details.length === 0 ? reason : `${reason} (${details.join("; ")})`);
    this.code = reason;
    this.status = status;
    this.isRefusal =
      isRefusal ??
      (status === undefined
        ? isRefusedHandshake(reason)
        : status >= 300 && status < 500 && !transientStatuses.includes(status));
  }
}

/** The code of an error, as the service or the system chose it. Anything but a plain word is dropped. */
export function codeFrom(outside: string, error?: Error): string {
  if (error !== undefined && isWithoutTls(error)) return noTls;
  return /^[A-Za-z][\w.]{0,63}$/.test(outside) ? outside : "an unreadable code";
}

/** Statuses below 500 for temporary failures. */
const transientStatuses: readonly number[] = [307, 408, 409, 425, 429];
