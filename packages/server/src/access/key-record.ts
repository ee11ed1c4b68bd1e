/**
 * The record of an issued API key, as it is stored: a MAC of 32 bytes, then JSON. docs/internals/format.md §8.
 *
 * The record has no secret, only its HMAC. All of it is authenticated under a key that is derived from the root key, so
 * that a party that can write to the configuration location cannot issue API keys or extend what they permit.
 */

import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { deriveKey } from "./root-key.js";
import type { Scope } from "./caller.js";
import type { KeyText } from "./key-text.js";

export interface KeyDetails {
  /** What the operator calls it. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The names of the only indexes that it may be used for. Undefined: all. */
  readonly indexes?: readonly string[];
  /** Milliseconds since 1970. Undefined: it does not expire. */
  readonly expiresAt?: number;
}

export interface KeyRecord extends KeyDetails {
  /** 16 hexadecimal characters. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** HMAC-SHA-256 of the secret. */
  readonly digest: Buffer;
}

export const keyNameLengthMax = 100;
const macBytes = 32;
const labels = { record: "sealdex-server/1/api-key-record", secret: "sealdex-server/1/api-key-secret" };

export const recordsPrefix = "apikeys/";

/** The longest: 1,000 names of indexes, of 128 bytes that JSON escapes, are shorter. What is longer does not authenticate. */
export const wholeRecord = { offset: 0, length: 2 ** 20 };

export function recordKey(id: string): string {
  return recordsPrefix + id;
}

/** What is derived from the root key. */
export class RecordKeys {
  readonly #record: KeyObject;
  readonly #secret: KeyObject;

  constructor(rootKey: string) {
    this.#record = deriveKey(rootKey, labels.record);
    this.#secret = deriveKey(rootKey, labels.secret);
  }

  digest({ id, secret }: KeyText): Buffer {
    return createHmac("sha256", this.#secret).update(id).update(secret).digest();
  }

  /** Takes the same time wherever the secrets differ. */
  isSecretOf(record: KeyRecord, text: KeyText): boolean {
    return timingSafeEqual(record.digest, this.digest(text));
  }

  seal({ digest, ...record }: KeyRecord): Buffer {
    const json = Buffer.from(JSON.stringify({ version: 1, ...record, digest: digest.toString("hex") }));
    return Buffer.concat([this.#mac(record.id, json), json]);
  }

  /** Undefined for a record that was created with another root key or for another id, or was modified. */
  open(id: string, bytes: Uint8Array): KeyRecord | undefined {
    const [mac, json] = [bytes.subarray(0, macBytes), bytes.subarray(macBytes)];
    if (mac.length < macBytes || !timingSafeEqual(mac, this.#mac(id, json))) return undefined;
    // Authenticated, so it is what `seal` wrote.
    const record = JSON.parse(Buffer.from(json).toString("utf8")) as StoredRecord;
    const { version: _version, digest, ...rest } = record;
    return { ...rest, digest: Buffer.from(digest, "hex") };
  }

  #mac(id: string, json: Uint8Array): Buffer {
    return createHmac("sha256", this.#record)
      .update(`${recordKey(id)}\0`)
      .update(json)
      .digest();
  }
}

interface StoredRecord extends Omit<KeyRecord, "digest"> {
  readonly version: 1;
  readonly digest: string;
}
