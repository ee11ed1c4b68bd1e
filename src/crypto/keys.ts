/**
 * The key hierarchy, from the key of a holder down.
 *
 *     wrap's key ──HKDF, salt──▶ key-encryption key   seals the holder's keyset in the index record
 *                          └───▶ key check            stored in clear, distinguishes a wrong key from corruption
 *     index secret (random) ───▶ id key               computes fingerprints of item ids
 *                          ├───▶ namespace key        seals the secrets of namespaces
 *                          └───▶ namespace name key   computes names of namespaces in storage
 *     data secret (random, one per key generation)
 *                          └───▶ data key             from which each sealed object derives its own
 *     data key, secret of a namespace (random)
 *                          └───▶ its data key         the same for segments of the namespace
 *     secret of a namespace ───▶ its check            in manifests, binds the name to the secret
 *     secret of shards (random) ─▶ key of a shard       the owner's key of one index of a collection
 *
 * HKDF-SHA-256 is RFC 5869, HMAC-SHA-256 RFC 2104. Keys are held as `KeyObject`, outside the JavaScript heap
 * and opaque to `util.inspect` and `JSON.stringify`.
 */

import {
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { SealdexError } from "../errors.js";
import { isBytes } from "../checks/value-kinds.js";

/** All derivation labels in one table: no two purposes may share one. docs/internals/format.md lists them too. */
const labels = {
  keyEncryption: "sealdex/1/key-encryption",
  keyCheck: "sealdex/1/key-check",
  data: "sealdex/1/data",
  id: "sealdex/1/id",
  namespace: "sealdex/1/namespace",
  namespaceName: "sealdex/1/namespace-name",
  namespaceData: "sealdex/1/namespace-data",
  namespaceCheck: "sealdex/1/namespace-check",
  object: "sealdex/1/object",
  shard: "sealdex/1/shard",
} as const;

export const keyBytes = 32;
export const saltBytes = 32;
/** 128 bits, so that a billion ids collide with probability below 2^-68. */
export const fingerprintBytes = 16;

const noSalt = new Uint8Array(0);

/** A new random index key as 64 hexadecimal characters. */
export function generateKey(): string {
  return randomBytes(keyBytes).toString("hex");
}

/** Whether a text is a key. */
export function isHexKey(text: string): boolean {
  return /^[0-9a-fA-F]{64}$/.test(text);
}

/** Parses the caller's key. Throws `invalid_request`; the message never repeats the key. */
export function parseIndexKey(key: unknown): KeyObject {
  if (typeof key === "string") {
    if (!isHexKey(key)) {
      const received =
        key.length === 64
          ? "64 characters, not all hexadecimal"
          : `${key.length} characters${key.trim() === key ? "" : " with white space around them: trim() it"}`;
      throw new SealdexError(
        "invalid_request",
        `index key: expected 64 hexadecimal characters, got ${received}`,
      );
    }
    return secretKey(Buffer.from(key, "hex"));
  }
  if (isBytes(key)) {
    if (key.length !== keyBytes) {
      throw new SealdexError("invalid_request", `index key: expected 32 bytes, got ${key.length}`);
    }
    return secretKey(Buffer.from(key));
  }
  const received = key === null ? "null" : typeof key;
  throw new SealdexError(
    "invalid_request",
    `index key: expected 64 hexadecimal characters or 32 bytes, got ${received}`,
  );
}

/** Keys derived from a wrap's key for one index. */
export interface WrapKeys {
  readonly keyEncryption: KeyObject;
  /** 32 bytes that may be stored: they reveal nothing about a uniformly random key. */
  readonly keyCheck: Uint8Array;
}

/** `salt`: 32 random bytes of the index. `indexId`: 16 bytes. */
export function deriveWrapKeys(key: KeyObject, salt: Uint8Array, indexId: Uint8Array): WrapKeys {
  return {
    keyEncryption: secretKey(hkdf(key, salt, labels.keyEncryption, indexId, keyBytes)),
    keyCheck: hkdf(key, salt, labels.keyCheck, indexId, keyBytes),
  };
}

/**
 * Derives the key of one generation, which seals manifests, models and segments. Zeroes the 32-byte
 * secret.
 */
export function deriveDataKey(secret: Uint8Array, indexId: Uint8Array): KeyObject {
  return secretKey(hkdf(secretKey(secret), noSalt, labels.data, indexId, keyBytes));
}

/** Keys that stay the same for the life of an index. */
export interface LastingKeys {
  readonly id: KeyObject;
  readonly namespace: KeyObject;
  readonly namespaceName: KeyObject;
}

/** Zeroes the 32-byte secret. */
export function deriveLastingKeys(secret: Uint8Array, indexId: Uint8Array): LastingKeys {
  const key = secretKey(secret);
  return {
    id: secretKey(hkdf(key, noSalt, labels.id, indexId, keyBytes)),
    namespace: secretKey(hkdf(key, noSalt, labels.namespace, indexId, keyBytes)),
    namespaceName: secretKey(hkdf(key, noSalt, labels.namespaceName, indexId, keyBytes)),
  };
}

/**
 * Derives the data key of a namespace from the data key of a generation and the namespace's 32-byte
 * secret.
 */
export function deriveNamespaceKey(data: KeyObject, secret: KeyObject, indexId: Uint8Array): KeyObject {
  return secretKey(hkdf(data, new Uint8Array(secret.export()), labels.namespaceData, indexId, keyBytes));
}

/** 16 bytes that identify a 32-byte secret and reveal nothing about it. */
export function namespaceCheck(secret: KeyObject, indexId: Uint8Array): Uint8Array {
  return hkdf(secret, noSalt, labels.namespaceCheck, indexId, fingerprintBytes);
}

/** The owner's key of a shard. `secret`: 32 bytes of the collection. `from`: where the range of the shard begins. */
export function deriveShardKey(secret: KeyObject, collectionId: Uint8Array, from: number): KeyObject {
  const context = Buffer.alloc(collectionId.length + 4);
  context.set(collectionId);
  context.writeUInt32LE(from, collectionId.length);
  return secretKey(hkdf(secret, noSalt, labels.shard, context, keyBytes));
}

/** The cipher key of one object and the 32-byte commitment to it. */
export function deriveObjectKey(
  parent: KeyObject,
  salt: Uint8Array,
  context: Uint8Array,
): { key: KeyObject; commitment: Uint8Array } {
  const bytes = hkdf(parent, salt, labels.object, context, 2 * keyBytes);
  const commitment = bytes.slice(keyBytes);
  const key = secretKey(bytes.subarray(0, keyBytes));
  return { key, commitment };
}

/** A keyed 16-byte fingerprint of an item's id or a namespace's name: HMAC-SHA-256, truncated. */
export function fingerprint(idKey: KeyObject, id: string): Uint8Array {
  // A Buffer per digest has memory outside the heap; garbage collection of 100,000 takes twice as
  // long.
  const digest = createHmac("sha256", idKey).update(id).digest("binary");
  const bytes = new Uint8Array(fingerprintBytes);
  for (let i = 0; i < fingerprintBytes; i++) bytes[i] = digest.charCodeAt(i);
  return bytes;
}

export function randomSalt(): Uint8Array {
  return randomBytes(saltBytes);
}

export function equalInConstantTime(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Moves key bytes out of the heap and zeroes the given bytes. */
export function secretKey(bytes: Uint8Array): KeyObject {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}

function hkdf(
  key: KeyObject,
  salt: Uint8Array,
  label: string,
  context: Uint8Array,
  length: number,
): Uint8Array {
  // Labels end in a zero byte and contain no other, so label and context cannot be confused.
  const info = Buffer.concat([Buffer.from(label), Buffer.of(0), context]);
  return new Uint8Array(hkdfSync("sha256", key, salt, info, length));
}
