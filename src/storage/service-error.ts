/**
 * A request that an object service did not fulfil, reduced to what may be shown: a code, a status, a hint. Texts and
 * documents of services are left behind, since they repeat access keys and what was signed.
 */

import { isUntrustedCertificate } from "./failure.js";

export interface Failure {
  /** A text of this package, or a foreign code that passed `codeFrom`. */
  readonly reason: string;
  /** The status of the HTTP answer, if there was one. */
  readonly status?: number;
  /** Whether the request had no effect and would not have if sent again. */
  readonly isRefusal?: boolean;
}

const hints: Record<string, string> = {
  NoSuchBucket: "there is no such bucket",
  InvalidAccessKeyId: "the service does not know the access key",
  SignatureDoesNotMatch: "is the secret key right?",
  AccessDenied: "may these credentials list, read, write and delete here?",
  RequestTimeTooSkewed: "is the clock of this machine right?",
  PermanentRedirect: "the bucket is in another region",
  AuthorizationHeaderMalformed: "is the region right?",
  ECONNREFUSED: "nothing listens at the endpoint",
  ENOTFOUND: "there is no host of that name",
  NoRegion: "no region was given or found",
  CredentialsProviderError: "no credentials were given or found",
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

/** The code of a service or of the system, which chose it: what is not just a word is not repeated. */
export function codeFrom(outside: string): string {
  return /^[A-Za-z]\w{0,63}$/.test(outside) ? outside : "an unreadable code";
}

/** Statuses below 500 that say "not now". */
function isTransientStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429;
}
