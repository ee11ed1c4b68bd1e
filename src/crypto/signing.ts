/**
 * Signatures by which readers tell the commits of writers from those of anybody else who can read: Ed25519 (RFC 8032). The
 * private key is in the keysets of writers alone, the public key in all.
 */

import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign, verify } from "node:crypto";

export const signatureBytes = 64;
/** Of the seed of a private key, and of a public key. */
export const signingKeyBytes = 32;

/** What comes before the 32 bytes of a key in its DER form: RFC 8410. */
const privatePrefix = Buffer.from("302e020100300506032b657004220420", "hex");
const publicPrefix = Buffer.from("302a300506032b6570032100", "hex");

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

/** The 32 bytes of the public key. */
export function verifyKeyOf(privateKey: KeyObject): Uint8Array {
  const der = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  return Uint8Array.from(der.subarray(publicPrefix.length));
}

export function verifyKey(bytes: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([publicPrefix, bytes]), format: "der", type: "spki" });
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
