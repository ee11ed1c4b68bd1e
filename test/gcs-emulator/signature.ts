/**
 * Verification of GOOG4-HMAC-SHA256 as the service does it: from the raw request, by its documentation, and apart from
 * the code under test. https://cloud.google.com/storage/docs/authentication/canonical-requests
 */

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Elements that the service adds to the error, with what it was given. */
  readonly details?: Readonly<Record<string, string>>;
}

const skewMsMax = 15 * 60 * 1000;
const emptyHash = createHash("sha256").digest("hex");

/** Null if the request is signed as it must be with the key of that access id. */
export function verify(
  request: IncomingMessage,
  body: Buffer,
  secrets: ReadonlyMap<string, string>,
): Refusal | null {
  const headers = request.headers;
  const authorization = headers.authorization ?? "";
  const fields =
    /^GOOG4-HMAC-SHA256 Credential=([^/,]+)\/(\d{8})\/([a-z0-9-]+)\/storage\/goog4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
      authorization,
    );
  if (fields === null) return refusal(401, "AuthenticationRequired", "Authentication required.");
  const [, access, day, region, signedHeaders, signature] = fields;
  const secret = secrets.get(access);
  if (secret === undefined) {
    const message = "The Access Key Id you provided does not exist in our records.";
    return refusal(403, "InvalidAccessKeyId", message, { AccessKeyId: access });
  }

  const names = signedHeaders.split(";");
  const unsigned = Object.keys(headers).filter((name) => name.startsWith("x-goog-") && !names.includes(name));
  const isSorted = names.join() === [...new Set(names)].sort().join();
  if (unsigned.length > 0 || !names.includes("host") || !isSorted) {
    return refusal(403, "AccessDenied", "There were headers present in the request which were not signed.");
  }
  const time = String(headers["x-goog-date"] ?? "");
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time);
  if (parts === null || time.slice(0, 8) !== day) {
    return refusal(403, "AccessDenied", "The date of the credential scope is not that of the request.");
  }
  const [, year, month, date, hour, minute, second] = parts.map(Number);
  const then = Date.UTC(year, month - 1, date, hour, minute, second);
  if (Math.abs(Date.now() - then) > skewMsMax) {
    return refusal(
      403,
      "RequestTimeTooSkewed",
      "The difference between the request time and the current time is too large.",
    );
  }

  const payload = String(headers["x-goog-content-sha256"] ?? "");
  const actual = body.length === 0 ? emptyHash : createHash("sha256").update(body).digest("hex");
  if (payload !== actual) {
    const message = "The provided 'x-goog-content-sha256' header does not match what was computed.";
    return refusal(400, "XAmzContentSHA256Mismatch", message);
  }

  const [path, query = ""] = (request.url ?? "").split("?");
  const canonicalHeaders = names.map(
    (name) =>
      `${name}:${String(headers[name] ?? "")
        .trim()
        .replace(/ +/g, " ")}\n`,
  );
  const canonicalQuery = query.split("&").sort().join("&");
  const canonicalRequest = `${request.method}\n${path}\n${canonicalQuery}\n${canonicalHeaders.join("")}\n${signedHeaders}\n${payload}`;
  const stringToSign = `GOOG4-HMAC-SHA256\n${time}\n${day}/${region}/storage/goog4_request\n${createHash("sha256").update(canonicalRequest).digest("hex")}`;
  const dayKey = createHmac("sha256", `GOOG4${secret}`).update(day).digest();
  const regionKey = createHmac("sha256", dayKey).update(region).digest();
  const serviceKey = createHmac("sha256", regionKey).update("storage").digest();
  const signingKey = createHmac("sha256", serviceKey).update("goog4_request").digest();
  const expected = createHmac("sha256", signingKey).update(stringToSign).digest();
  if (timingSafeEqual(expected, Buffer.from(signature, "hex"))) return null;
  const message = "Access denied.";
  const details = { StringToSign: stringToSign, CanonicalRequest: canonicalRequest, AccessKeyId: access };
  return refusal(403, "SignatureDoesNotMatch", message, details);
}

function refusal(
  status: number,
  code: string,
  message: string,
  details: Record<string, string> = {},
): Refusal {
  return { status, code, message, details };
}
