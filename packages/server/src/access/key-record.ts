/**
 * The stored record of an issued API key: a MAC of 32 bytes, then JSON. docs/internals/format.md §8.
 *
 * The record has an HMAC of the secret, not the secret. It is authenticated by a key derived from
 * the root key, so that whoever can write to the configuration location cannot issue API keys or
 * extend their permissions.
 */

import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { deriveKey } from "./root-key.js";
import type { Scope } from "./caller.js";
import type { KeyText } from "./key-text.js";

export interface KeyDetails {
  /** Name chosen by the operator. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Names of the only indexes that it may use. Undefined: all. */
  readonly indexes?: readonly string[];
  /** Milliseconds since 1970. Undefined: never. */
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

/**
 * Longest record: 1,000 names of indexes, of 128 escaped bytes, are shorter. A longer one does not
 * authenticate.
 */
export const wholeRecord = { offset: 0, length: 2 ** 20 };

export function recordKey(id: string): string {
  return recordsPrefix + id;
}

/** Keys derived from the root key. */
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

  /** Takes constant time wherever the secrets differ. */
  isSecretOf(record: KeyRecord, text: KeyText): boolean {
    return timingSafeEqual(record.digest, this.digest(text));
  }

  seal({ digest, ...record }: KeyRecord): Buffer {
    const json = Buffer.from(JSON.stringify({ version: 1, ...record, digest: digest.toString("hex") }));
    return Buffer.concat([this.#mac(record.id, json), json]);
  }

  /** Undefined for a record of another root key or id, or a modified one. */
  open(id: string, bytes: Uint8Array): KeyRecord | undefined {
    const [mac, json] = [bytes.subarray(0, macBytes), bytes.subarray(macBytes)];
    if (mac.length < macBytes || !timingSafeEqual(mac, this.#mac(id, json))) return undefined;
    // Authenticated, so `seal` wrote it.
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
