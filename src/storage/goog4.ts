/**
 * Signatures of requests to Google Cloud Storage with an HMAC key: GOOG4-HMAC-SHA256, as
 * https://cloud.google.com/storage/docs/authentication/signatures describes it.
 */

import { createHash, createHmac } from "node:crypto";

export interface UnsignedRequest {
  readonly method: string;
  /** Absolute path; only characters that need no encoding. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** All headers are signed. Names are in lower case and include `host`. */
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body in hexadecimal. */
  readonly payloadHash: string;
}

export interface HmacKey {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly region: string;
}

/** Adds the headers that authenticate the sender and the time. */
export function signed(request: UnsignedRequest, key: HmacKey, now: Date): Record<string, string> {
  const time = now.toISOString().replace(/[-:]|\.\d+/g, "");
  const headers: Record<string, string> = {
    ...request.headers,
    "x-goog-content-sha256": request.payloadHash,
    "x-goog-date": time,
  };
  const names = Object.keys(headers).sort();
  const canonical = [
    request.method,
    request.path,
    canonicalQuery(request.query),
    ...names.map((name) => `${name}:${headers[name].trim()}`),
    "",
    names.join(";"),
    request.payloadHash,
  ].join("\n");
  const scope = `${time.slice(0, 8)}/${key.region}/storage/goog4_request`;
  const hash = createHash("sha256").update(canonical).digest("hex");
  const signingKey = scope
    .split("/")
    .reduce<string | Buffer>((parent, part) => hmac(parent, part), `GOOG4${key.secretKey}`);
  const signature = hmac(signingKey, ["GOOG4-HMAC-SHA256", time, scope, hash].join("\n")).toString("hex");
  headers.authorization =
    `GOOG4-HMAC-SHA256 Credential=${key.accessKey}/${scope}, ` +
    `SignedHeaders=${names.join(";")}, Signature=${signature}`;
  return headers;
}

/** Also used as the query of the URL. */
export function canonicalQuery(query: Readonly<Record<string, string>>): string {
  const names = Object.keys(query).sort();
  return names.map((name) => `${encode(name)}=${encode(query[name])}`).join("&");
}

function encode(text: string): string {
  const percent = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text).replace(/[!'()*]/g, percent);
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
