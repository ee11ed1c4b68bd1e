/** The key that an index was opened with, and its rotation. */

import type { KeyObject } from "node:crypto";
import { createConfirmed } from "../commit/create-confirmed.js";
import type { ManifestLog } from "../commit/manifest-log.js";
import { numberOf, recordName, recordPrefix } from "../commit/object-names.js";
import { equalInConstantTime } from "../crypto/keys.js";
import { SealdexError } from "../errors.js";
import type { BlobStore } from "../storage/blob-store.js";
import { indexIdOf, openRecord, type OpenedRecord, rekeyRecord, type StoredRecord } from "./index-record.js";

export class IndexAccess {
  readonly #indexName: string;
  readonly #indexId: Uint8Array;
  readonly #configStore: BlobStore;
  readonly #log: ManifestLog;
  #indexKey: KeyObject;

  constructor(
    indexName: string,
    { indexId, indexKey }: OpenedRecord,
    configStore: BlobStore,
    log: ManifestLog,
  ) {
    this.#indexName = indexName;
    this.#indexId = indexId;
    this.#indexKey = indexKey;
    this.#configStore = configStore;
    this.#log = log;
  }

  /**
   * Seals the root secret under `newKey`, in a record of its own, and commits the new generation, by which every process
   * learns that its key is too old. Two small writes, whatever the size of the index.
   *
   * Throws `wrong_index_key` if another process rotated the key first. After a failure the index opens with one of the two
   * keys; the same call can be repeated.
   */
  async rotate(newKey: KeyObject): Promise<void> {
    const record = await this.#newestRecord();
    this.#log.keyGeneration = await this.#rekey(record, newKey);
    this.#indexKey = newKey;
    await this.finishRotation();
  }

  /** Whether a rotation was interrupted between its two writes. */
  async isRotationUnfinished(): Promise<boolean> {
    return (await this.#log.newest()).keyGeneration < this.#log.keyGeneration;
  }

  /** Commits the generation of the key and deletes the records of older ones. */
  async finishRotation(): Promise<void> {
    const { keyGeneration } = this.#log;
    await this.#log.commit((latest) =>
      latest.keyGeneration >= keyGeneration ? null : { ...latest, keyGeneration },
    );
    const [, ...older] = await this.#configStore.list(recordPrefix(this.#indexName));
    await this.#configStore.delete(older);
  }

  /** Stores the next record, unless an interrupted rotation to the same key did. Returns its generation. */
  async #rekey(record: StoredRecord, newKey: KeyObject): Promise<number> {
    const name = recordName(this.#indexName, numberOf(record.name) + 1);
    try {
      const { bytes, keyGeneration } = rekeyRecord(this.#indexKey, record, newKey, name);
      if (await createConfirmed(this.#configStore, name, bytes)) return keyGeneration;
    } catch (error) {
      if (!(error instanceof SealdexError && error.code === "wrong_index_key")) throw error;
      return openRecord(newKey, record).keyGeneration;
    }
    throw new SealdexError("wrong_index_key", `index "${this.#indexName}": its key was rotated`);
  }

  async #newestRecord(): Promise<StoredRecord> {
    const indexName = this.#indexName;
    const [name] = await this.#configStore.list(recordPrefix(indexName), { limit: 1 });
    const bytes = name === undefined ? null : await this.#configStore.read(name);
    if (bytes === null || !equalInConstantTime(indexIdOf(indexName, bytes), this.#indexId)) {
      throw new SealdexError("not_found", `index "${indexName}": it was deleted`);
    }
    return { indexName, name, bytes };
  }
}
