/**
 * A request that an object service did not fulfil, reduced to a code, a status and a hint. Texts of
 * services are dropped, since they repeat access keys and signed data.
 */

import { isUntrustedCertificate } from "./failure.js";

export interface Failure {
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
  NoRegion: "no region is configured",
  CredentialsProviderError: "no credentials are configured",
};

export class ServiceError extends Error {
  override readonly name = "ServiceError";
  /** The original error. */
  readonly code: string;
  readonly status: number | undefined;
  readonly isRefusal: boolean;

  constructor({ reason, status, isRefusal }: Failure) {
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
        ? isUntrustedCertificate(reason)
        : status >= 400 && status < 500 && !isTransientStatus(status));
  }
}

/** A code chosen by the service or the system. Anything but a plain word is dropped. */
export function codeFrom(outside: string): string {
  return /^[A-Za-z]\w{0,63}$/.test(outside) ? outside : "an unreadable code";
}

/** Statuses below 500 for temporary failures. */
function isTransientStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429;
}
