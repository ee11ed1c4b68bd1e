/**
 * Issued API keys: one record per key in the configuration location, which several processes may
 * share.
 */

import { type BlobStore, SealdexError } from "sealdex/core";
import { invalid, timeMax, yieldIfDue } from "sealdex/wire";
import { LastUses } from "./last-uses.js";
import { encodeKeyText, isKeyId, newKeyText } from "./key-text.js";
import {
  type KeyDetails,
  type KeyRecord,
  RecordKeys,
  recordKey,
  recordsPrefix,
  wholeRecord,
} from "./key-record.js";

/** Concurrent reads. */
const readsMax = 16;
/** Ids per page of a list. */
const idsPerPage = 256;
const indexNameBytesMax = 128;

export interface KeyRange {
  /** Only ids after this one. Default: all. */
  readonly after?: string | undefined;
  /** Expected number of keys, if known. Default: all. */
  readonly limit?: number;
  readonly signal?: AbortSignal;
}

export interface KeyPage {
  readonly records: readonly KeyRecord[];
  /** Ids of records that do not authenticate: of another root key, or modified. */
  readonly unknown: readonly string[];
}

export class KeyStore {
  readonly #store: BlobStore;
  /** Computes digests and authenticates records. */
  readonly recordKeys: RecordKeys;
  readonly lastUses: LastUses;
  readonly #now: () => number;

  /**
   * `store`: of the configuration location, closed by the caller. `now`: milliseconds since 1970.
   */
  constructor(store: BlobStore, rootKey: string, now: () => number = Date.now) {
    this.#store = store;
    this.recordKeys = new RecordKeys(rootKey);
    this.#now = now;
    this.lastUses = new LastUses(store, rootKey, now);
  }

  /** Returns the record and the key, which cannot be shown again. Throws `invalid_request`. */
  async create(details: KeyDetails): Promise<{ readonly apiKey: string; readonly record: KeyRecord }> {
    const createdAt = this.#now();
    const checked = checkDetails(details, createdAt);
    const text = newKeyText();
    const record = { id: text.id, ...checked, createdAt, digest: this.recordKeys.digest(text) };
    if (!(await this.#store.create(recordKey(text.id), this.recordKeys.seal(record)))) {
      throw new SealdexError("internal", `API key ${text.id}: the id is taken`);
    }
    return { apiKey: encodeKeyText(text), record };
  }

  /** Undefined if there is no such key, or its record does not authenticate. */
  async read(id: string): Promise<KeyRecord | undefined> {
    if (!isKeyId(id)) return undefined;
    const bytes = await this.#store.read(recordKey(id), wholeRecord);
    return bytes === null ? undefined : this.recordKeys.open(id, bytes);
  }

  /**
   * Keys in the order of their ids, in pages of at most `idsPerPage`. A page may be empty without
   * being the last.
   */
  async *pages({ after = "", limit = Infinity, signal }: KeyRange = {}): AsyncGenerator<KeyPage> {
    const perPage = Math.min(limit, idsPerPage);
    for (let last = recordsPrefix + after; ;) {
      const names = await this.#store.list(recordsPrefix, {
        limit: perPage,
        after: last,
        ...(signal && { signal }),
      });
      yield await this.#readAll(names.map((name) => name.slice(recordsPrefix.length)));
      if (names.length < perPage) return;
      last = names[names.length - 1];
    }
  }

  async #readAll(ids: readonly string[]): Promise<KeyPage> {
    const records: KeyRecord[] = [];
    const unknown: string[] = [];
    for (let start = 0; start < ids.length; start += readsMax) {
      const some = ids.slice(start, start + readsMax);
      const stored = await Promise.all(some.map((id) => this.#store.read(recordKey(id), wholeRecord)));
      for (const [i, bytes] of stored.entries()) {
        if (bytes === null) continue;
        const record = this.recordKeys.open(some[i], bytes);
        if (record === undefined) unknown.push(some[i]);
        else records.push(record);
      }
      await yieldIfDue();
    }
    return { records, unknown };
  }

  /** Deletes the record. Throws `not_found` if there is none. */
  async revoke(id: string): Promise<void> {
    if (!isKeyId(id) || (await this.#store.read(recordKey(id), { offset: 0, length: 0 })) === null) {
      throw new SealdexError("not_found", "API key: no key has this id");
    }
    await this.#store.delete([recordKey(id)]);
    // The key is revoked even if its last use cannot be deleted now.
    await this.lastUses.forget(id).catch(() => undefined);
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#now();
  }
}

/** `now`: milliseconds since 1970. Throws `invalid_request`. */
function checkDetails(details: KeyDetails, now: number): KeyDetails {
  const { name, scopes, indexes, expiresAt } = details;
  if (name === "" || /[\p{Cc}\p{Cs}]/u.test(name))
    throw invalid("name: expected a text without control characters");
  if (scopes.length === 0) throw invalid("scopes: expected one or more of read, write, admin");
  if (indexes?.length === 0) throw invalid("indexes: expected one or more names of indexes");
  for (const index of indexes ?? []) {
    const bytes = Buffer.byteLength(index, "utf8");
    if (bytes === 0 || bytes > indexNameBytesMax) {
      throw invalid(`indexes: expected names of 1 to ${indexNameBytesMax} bytes, got ${bytes}`);
    }
  }
  if (expiresAt !== undefined && !(Number.isInteger(expiresAt) && expiresAt > now && expiresAt <= timeMax)) {
    throw invalid("expires_at: expected a time in the future, in milliseconds since 1970");
  }
  return { ...details, scopes: [...new Set(scopes)], ...(indexes && { indexes: [...new Set(indexes)] }) };
}
