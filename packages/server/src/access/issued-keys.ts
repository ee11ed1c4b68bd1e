/**
 * Checks issued API keys. Their records are cached and read again often enough that every process
 * notices a revocation within `trustMs`.
 */

import type { Caller } from "./caller.js";
import type { KeyRecord } from "./key-record.js";
import type { KeyStore } from "./key-store.js";
import { decodeKeyText, type KeyText } from "./key-text.js";

/**
 * Time for which a cached record is trusted. After half of it, the record is read again in the
 * background.
 */
export const trustMs = 10_000;
/** Approximate limit of cached records: 10,000 keys for a few indexes. */
const knownBytesMax = 10 * 1024 * 1024;
/** Size of a record without the names of its indexes, of up to two bytes per character. */
const recordBytes = 1024;
const nameBytes = 64;

interface Known {
  readonly record: KeyRecord;
  /** Start of the read. */
  readonly readAt: number;
}

export class IssuedKeys {
  readonly store: KeyStore;
  /** By id, least recently used first. */
  readonly #known = new Map<string, Known>();
  #knownBytes = 0;
  readonly #reading = new Map<string, Promise<KeyRecord | undefined>>();

  constructor(store: KeyStore) {
    this.store = store;
  }

  /**
   * `checkMayRead` is called before an unknown id is read from storage, and may throw. Throws
   * `storage_unavailable` if the key cannot be checked.
   */
  async callerOf(apiKey: string, checkMayRead: () => Promise<void>): Promise<Caller | undefined> {
    const text = decodeKeyText(apiKey);
    if (text === undefined) return undefined;
    const record = await this.#record(text, checkMayRead);
    if (record === undefined || !this.store.recordKeys.isSecretOf(record, text)) return undefined;
    const { id, scopes, indexes, expiresAt = Infinity } = record;
    if (expiresAt <= this.store.now()) return undefined;
    this.store.lastUses.note(id);
    return { id, scopes, indexes };
  }

  /** Revokes a key, at once in this process and within `trustMs` in others. Throws `not_found`. */
  async revoke(id: string): Promise<void> {
    await this.store.revoke(id);
    this.#drop(id);
    this.#reading.delete(id);
  }

  async #record({ id }: KeyText, checkMayRead: () => Promise<void>): Promise<KeyRecord | undefined> {
    const known = this.#known.get(id);
    if (known === undefined) {
      if (!this.#reading.has(id)) await checkMayRead();
      return this.#read(id);
    }
    const age = this.store.now() - known.readAt;
    // If the clock was set back, the age is unknown.
    if (age < 0 || age >= trustMs) return this.#read(id);
    // A failure is reported once the record is no longer trusted.
    if (age >= trustMs / 2) this.#read(id).catch(() => undefined);
    this.#known.delete(id);
    this.#known.set(id, known);
    return known.record;
  }

  #read(id: string): Promise<KeyRecord | undefined> {
    const underWay = this.#reading.get(id);
    if (underWay !== undefined) return underWay;
    const reading: Promise<KeyRecord | undefined> = this.#readAndKeep(
      id,
      () => this.#reading.get(id) === reading,
    ).finally(() => {
      if (this.#reading.get(id) === reading) this.#reading.delete(id);
    });
    this.#reading.set(id, reading);
    return reading;
  }

  /** `isWanted`: whether the key was not revoked here meanwhile. */
  async #readAndKeep(id: string, isWanted: () => boolean): Promise<KeyRecord | undefined> {
    const readAt = this.store.now();
    const record = await this.store.read(id);
    if (!isWanted()) return undefined;
    this.#drop(id);
    if (record === undefined) return undefined;
    this.#known.set(id, { record, readAt });
    this.#knownBytes += bytesOf(record);
    for (const oldest of this.#known.keys()) {
      if (this.#knownBytes <= knownBytesMax || oldest === id) break;
      this.#drop(oldest);
    }
    return record;
  }

  #drop(id: string): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    this.#known.delete(id);
    this.#knownBytes -= bytesOf(known.record);
  }
}

function bytesOf({ indexes = [] }: KeyRecord): number {
  return indexes.reduce((sum, name) => sum + nameBytes + 2 * name.length, recordBytes);
}
