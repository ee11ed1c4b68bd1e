/** TLS by certificate files, which are read again: a renewed certificate needs no restart, and open connections keep the old one. */

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

export class Certificates {
  readonly #files: CertificateFiles;
  #read: SecureContextOptions;
  #current: SecureContextOptions;

  /** Throws `invalid_request` if the files cannot be read, or do not belong together. */
  constructor(files: CertificateFiles) {
    this.#files = files;
    this.#read = readFiles(files);
    check(this.#read);
    this.#current = this.#read;
  }

  /** What a server of `node:https` takes. */
  get options() {
    const areClientsChecked = this.#files.clientAuthorities !== undefined;
    return { ...this.#current, requestCert: areClientsChecked, rejectUnauthorized: areClientsChecked };
  }

  /** When the certificate expires, in seconds since 1970. */
  expiresAt(): number {
    return Date.parse(new X509Certificate(this.#current.cert as string).validTo) / 1000;
  }

  /**
   * Reads the files again. Returns what a server shall use from now on; undefined if nothing has changed since the last call.
   * Throws `invalid_request` for files that cannot be read or, once per change, are not valid: the server then keeps what it has.
   */
  renewed(): SecureContextOptions | undefined {
    const read = readFiles(this.#files);
    if (isEqual(read, this.#read)) return undefined;
    // Remembered first: of two files, one may be replaced before the other.
    this.#read = read;
    check(read);
    this.#current = read;
    return read;
  }
}

function readFiles({ certificate, key, clientAuthorities }: CertificateFiles): SecureContextOptions {
  return {
    minVersion: "TLSv1.2",
    cert: readTextFile(certificate),
    key: readTextFile(key),
    ...(clientAuthorities !== undefined && { ca: readTextFile(clientAuthorities) }),
  };
}

function isEqual(a: SecureContextOptions, b: SecureContextOptions): boolean {
  return a.cert === b.cert && a.key === b.key && a.ca === b.ca;
}

function check(options: SecureContextOptions): void {
  try {
    createSecureContext(options);
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    throw new SealdexError(
      "invalid_request",
      `TLS: the certificate and the key are not a valid pair (${code})`,
      {
        cause,
      },
    );
  }
}
