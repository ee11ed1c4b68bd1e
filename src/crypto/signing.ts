/**
 * Signatures by which readers tell the commits of writers from those of anybody else who can read: Ed25519 (RFC 8032). The
 * private key is in the keysets of writers alone, the public key in all.
 */

import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign, verify } from "node:crypto";

export const signatureBytes = 64;
/** Of the seed of a private key, and of a public key. */
export const signingKeyBytes = 32;

/** What comes before the 32 bytes of a private key in its DER form: RFC 8410. */
const privatePrefix = Buffer.from("302e020100300506032b657004220420", "hex");

/** The seed of a new private key. */
export function newSigningSeed(): Uint8Array {
  return randomBytes(signingKeyBytes);
}

export function signingKey(seed: Uint8Array): KeyObject {
  const der = Buffer.concat([privatePrefix, seed]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  der.fill(0);
  return key;
}

/** The private key of a seed that is held as a secret key. */
export function signingKeyOf(seed: KeyObject): KeyObject {
  const bytes = seed.export();
  const key = signingKey(bytes);
  bytes.fill(0);
  return key;
}

/** The 32 bytes of the public key. */
export function verifyKeyOf(privateKey: KeyObject): Uint8Array {
  const der = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  return Uint8Array.from(der.subarray(-signingKeyBytes));
}

export function verifyKey(bytes: Uint8Array): KeyObject {
  // OpenSSL searches its decoders for one that reads DER: that takes seven times as long.
  const x = Buffer.from(bytes).toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}

/** 64 bytes. `label` says what is signed: it ends in a zero byte, which no label contains. */
export function signMessage(privateKey: KeyObject, label: string, message: Uint8Array): Uint8Array {
  return sign(null, labelled(label, message), privateKey);
}

export function isSignedBy(
  publicKey: KeyObject,
  label: string,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  return verify(null, labelled(label, message), publicKey, signature);
}

function labelled(label: string, message: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(label, "utf8"), Buffer.of(0), message]);
}
