/**
 * An anchor names one manifest of an index by its digest. A process that holds one cannot be shown an older state of the
 * index, nor one of another history: manifests are chained by their digests.
 */

import { SealdexError } from "../../errors.js";

export interface Anchor {
  /** 16 bytes. */
  readonly indexId: Uint8Array;
  readonly version: number;
  /** SHA-256 of the stored manifest, hexadecimal. */
  readonly digest: string;
}

const prefix = "sealdex-anchor-1-";
const idBytes = 16;
const versionBytes = 8;
const digestBytes = 32;
const tokenPattern = /^sealdex-anchor-1-[A-Za-z0-9_-]{75}$/;

/** About 90 characters, safe in URLs. It is not secret: it holds no key and nothing of the content. */
export function encodeAnchor({ indexId, version, digest }: Anchor): string {
  const bytes = Buffer.alloc(idBytes + versionBytes + digestBytes);
  bytes.set(indexId);
  bytes.writeBigUInt64BE(BigInt(version), idBytes);
  bytes.write(digest, idBytes + versionBytes, "hex");
  return prefix + bytes.toString("base64url");
}

/** Throws `invalid_request` unless `token` has the form that `encodeAnchor` returns. */
export function decodeAnchor(token: unknown): Anchor {
  if (typeof token !== "string" || !tokenPattern.test(token)) {
    throw new SealdexError("invalid_request", "anchor: expected a token that anchor() returned");
  }
  const bytes = Buffer.from(token.slice(prefix.length), "base64url");
  const anchor = {
    indexId: Uint8Array.from(bytes.subarray(0, idBytes)),
    version: Number(bytes.readBigUInt64BE(idBytes)),
    digest: bytes.toString("hex", idBytes + versionBytes),
  };
  const isVersion = Number.isSafeInteger(anchor.version) && anchor.version > 0;
  // The last character may have other padding bits.
  if (!isVersion || encodeAnchor(anchor) !== token) {
    throw new SealdexError("invalid_request", "anchor: expected a token that anchor() returned");
  }
  return anchor;
}
