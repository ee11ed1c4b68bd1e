/** TLS by certificate files, which are read once: a renewed certificate needs a restart. */

import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { SealdexError } from "sealdex/core";
import { readTextFile } from "./text-file.js";

/** Paths of PEM files. */
export interface CertificateFiles {
  /** The certificate of the service and those that lead to its authority. */
  readonly certificate: string;
  readonly key: string;
  /** The authorities of client certificates. Default: clients need none. */
  readonly clientAuthorities?: string;
}

/** As `node:https` takes them. */
export interface Certificates extends SecureContextOptions {
  readonly requestCert: boolean;
  readonly rejectUnauthorized: boolean;
}

/** Throws `invalid_request` if the files cannot be read, or do not belong together. */
export function readCertificates({ certificate, key, clientAuthorities }: CertificateFiles): Certificates {
  const areClientsChecked = clientAuthorities !== undefined;
  const options = {
    minVersion: "TLSv1.2" as const,
    cert: readTextFile(certificate),
    key: readTextFile(key),
    ...(areClientsChecked && { ca: readTextFile(clientAuthorities) }),
  };
  try {
    createSecureContext(options);
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    const message = `TLS: the certificate and the key are not a valid pair (${code})`;
    throw new SealdexError("invalid_request", message, { cause });
  }
  return { ...options, requestCert: areClientsChecked, rejectUnauthorized: areClientsChecked };
}

/** When the certificate expires, in seconds since 1970. */
export function expiryOf({ cert }: Certificates): number {
  return Date.parse(new X509Certificate(cert as string).validTo) / 1000;
}
