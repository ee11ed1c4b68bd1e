/**
 * Ed25519 signatures (RFC 8032), which prove to readers that a writer made a commit. Only keysets
 * of writers have the private key; all have the public key.
 */

import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign, verify } from "node:crypto";

export const signatureBytes = 64;
/** Bytes of a private key's seed, and of a public key. */
export const signingKeyBytes = 32;

/** The bytes before the seed in the DER form of a private key (RFC 8410). */
const privatePrefix = Buffer.from("302e020100300506032b657004220420", "hex");

export function newSigningSeed(): Uint8Array {
  return randomBytes(signingKeyBytes);
}

export function signingKey(seed: Uint8Array): KeyObject {
  const der = Buffer.concat([privatePrefix, seed]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  der.fill(0);
  return key;
}

export function signingKeyOf(seed: KeyObject): KeyObject {
  const bytes = seed.export();
  const key = signingKey(bytes);
  bytes.fill(0);
  return key;
}

/** Returns the 32-byte public key. */
export function verifyKeyOf(privateKey: KeyObject): Uint8Array {
  const der = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  return Uint8Array.from(der.subarray(-signingKeyBytes));
}

export function verifyKey(bytes: Uint8Array): KeyObject {
  // As DER, OpenSSL tries its decoders one by one, which takes seven times as long.
  const x = Buffer.from(bytes).toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}

/** Returns 64 bytes. `label` names the purpose and ends in a zero byte, which no label contains. */
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
