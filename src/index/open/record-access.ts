/** The index record as one holder of a key sees it, and its next version as the owner makes it. */

import { equalInConstantTime, type WrapKeys } from "../../crypto/keys.js";
import { SealdexError } from "../../errors.js";
import type { KeySource } from "../../keys/key-provider.js";
import type { KeyRing } from "../../keys/key-ring.js";
import type { OwnerKeyset } from "../../keys/keyset.js";
import type { WrapScope } from "../../keys/wrap.js";
import { createConfirmed } from "../../state/commit/create-confirmed.js";
import { openFolder } from "../../state/commit/index-folder.js";
import type { Manifest } from "../../state/commit/manifest.js";
import { isNumbered, numberOf, recordName, recordPrefix } from "../../state/commit/object-names.js";
import { readObject, storedGenerations } from "../../state/commit/read-object.js";
import type { BlobStore } from "../../storage/blob-store.js";
import {
  checkOwners,
  claimedIndexId,
  listed,
  type ListedRecord,
  type OpenedRecord,
  sealRecord,
  type StoredRecord,
  useKeyset,
  wrapKeysOf,
} from "./index-record.js";
import type { IndexDefinition } from "./stored-definition.js";

const readAttemptsMax = 3;

/** Names of the records of the index that has this name, newest first. */
export async function listRecords(configStore: BlobStore, indexName: string): Promise<string[]> {
  const prefix = recordPrefix(indexName);
  return (await configStore.list(prefix)).filter((name) => isNumbered(name, prefix));
}

/** The records of the index that has this name, newest first: one, except while keys change, and after that was interrupted. */
async function readRecords(configStore: BlobStore, indexName: string): Promise<ListedRecord[]> {
  for (let attempt = 1; attempt <= readAttemptsMax; attempt++) {
    const names = await listRecords(configStore, indexName);
    const all = await Promise.all(names.map((name) => readObject(configStore, "record", name)));
    const records = all.flatMap((bytes, i) =>
      bytes === null ? [] : listed({ indexName, name: names[i], bytes }),
    );
    // Deleted since it was listed: then there is a newer one.
    if (records.length === names.length) return records;
  }
  throw new SealdexError("storage_unavailable", `index "${indexName}": its records change too fast`);
}

/** The record in force of the index that has this name; undefined if there is none. */
export async function findRecord(
  configStore: BlobStore,
  indexName: string,
): Promise<StoredRecord | undefined> {
  // The first version is nearly always the only one: it is read in parallel with the list.
  const name = recordName(indexName, 1);
  const [names, bytes] = await Promise.all([
    listRecords(configStore, indexName),
    readObject(configStore, "record", name),
  ]);
  if (names.length === 0) return undefined;
  if (names.length === 1 && names[0] === name && bytes !== null) return { indexName, name, bytes };
  const records = await readRecords(configStore, indexName);
  if (records.length < 2) return records[0];
  const folder = openFolder(configStore, indexName);
  const { newest } = await storedGenerations(folder, records[0].indexId);
  return newest === undefined ? records[0] : recordInForce(records, newest);
}

/**
 * The record in force: the newest that says from when on its keys count, or one after it with the keys of the newest manifest. Others after it
 * are of changes that were overtaken, or interrupted before the commit that counts; those before it, of whatever keys, are replaced.
 */
function recordInForce(records: readonly ListedRecord[], generation: number): ListedRecord {
  const settled = records.findIndex(({ isSettled }) => isSettled);
  const candidates = settled < 0 ? records : records.slice(0, settled + 1);
  return candidates.find((record) => record.generation === generation) ?? candidates[candidates.length - 1];
}

/**
 * Returns the owner's next keyset, or null to leave it as it is. It must not keep the one that it gets. `generation`: a number that
 * no generation has had.
 */
export type ChangeKeyset = (
  owner: OwnerKeyset<IndexDefinition>,
  generation: number,
) => OwnerKeyset<IndexDefinition> | null;

/** The outcome of storing a record. */
export type RecordOutcome =
  | { readonly generation: number }
  /** `change` declined. */
  | "declined"
  /** Others have proposed keys that are not in force yet. */
  | "overtaken";

/** The key that opens the record now, if another process rotated the key that did. */
export type CurrentKey = () => Promise<KeySource>;

export class RecordAccess {
  readonly indexName: string;
  readonly scope: WrapScope;
  readonly keys: KeyRing;
  readonly #configStore: BlobStore;
  readonly #currentKey: CurrentKey | undefined;
  #wrapKeys: WrapKeys;

  constructor(
    indexName: string,
    { indexId, salt, wrapKeys, keys }: OpenedRecord,
    configStore: BlobStore,
    currentKey?: CurrentKey,
  ) {
    this.indexName = indexName;
    this.scope = { indexId, salt };
    this.keys = keys;
    this.#wrapKeys = wrapKeys;
    this.#configStore = configStore;
    this.#currentKey = currentKey;
  }

  /** Takes over the keys of a generation. Throws `wrong_index_key` if its record has none for this holder. */
  async renew(generation: number): Promise<void> {
    try {
      this.#take(await this.#inForce(generation), this.#wrapKeys);
    } catch (error) {
      const isOfOther = error instanceof SealdexError && error.code === "wrong_index_key";
      if (!isOfOther || this.#currentKey === undefined) throw error;
      await this.adopt(await this.#currentKey(), generation);
    }
  }

  /** Opens the record in force by another key from now on. Throws `wrong_index_key` if that is of no wrap. */
  async adopt(source: KeySource, generation: number): Promise<void> {
    const record = await this.#inForce(generation);
    const wrapKeys = await wrapKeysOf(source, record);
    this.#take(record, wrapKeys);
    this.#wrapKeys = wrapKeys;
  }

  /** Opens records by the keys of another wrap from now on. */
  useWrap(wrapKeys: WrapKeys): void {
    this.#wrapKeys = wrapKeys;
  }

  /** Calls `work` with the owner's keyset, which is zeroed afterwards, and returns its result. Throws `forbidden` unless it is the owner's. */
  async read<T>(generation: number, work: (owner: OwnerKeyset<IndexDefinition>) => T): Promise<T> {
    const record = await this.#inForce(generation);
    return useKeyset(this.#wrapKeys, record, (keyset) => work(checkOwners(keyset, this.indexName)));
  }

  /**
   * Stores a record that follows the one in force, which is of `generation`: the only write that it takes to change who may open the index,
   * unless the change draws keys. Made again if another process was first. `isLast`: only if no keys are proposed that the change does not
   * know. `wrapKeys`: of the owner's wrap in the new record.
   */
  async store(
    generation: number,
    change: ChangeKeyset,
    { isLast, wrapKeys = this.#wrapKeys }: { isLast: boolean; wrapKeys?: WrapKeys | undefined },
  ): Promise<RecordOutcome> {
    for (;;) {
      const records = await this.#records();
      const [newest] = records;
      const record = recordInForce(records, generation);
      if (isLast && record !== newest) return "overtaken";
      const version = numberOf(newest.name) + 1;
      const unused = Math.max(version, ...records.map((one) => one.generation + 1));
      const name = recordName(this.indexName, version);
      const bytes = useKeyset(this.#wrapKeys, record, (keyset, scope) => {
        const next = change(checkOwners(keyset, this.indexName), unused);
        if (next === null) return null;
        const sealed = sealRecord(next, scope, name);
        // New ones are no part of the keyset that is zeroed.
        for (const { secret } of next.generations) secret.fill(0);
        next.signingSeed.fill(0);
        return sealed;
      });
      if (bytes === null) return "declined";
      if (!(await createConfirmed(this.#configStore, name, bytes))) continue;
      const stored = listed({ indexName: this.indexName, name, bytes });
      this.#take(stored, wrapKeys);
      return stored;
    }
  }

  /**
   * The record in force, or for an index of another name one to create. That takes the owner's key: throws `forbidden`. Null if keys have
   * changed so that the manifest can be the newest of no index that is opened by the record.
   */
  async forName(
    indexName: string,
    { keyGeneration, version }: Pick<Manifest, "keyGeneration" | "version">,
  ): Promise<StoredRecord | null> {
    const record = await this.#inForce(keyGeneration);
    return useKeyset(this.#wrapKeys, record, (keyset, scope) => {
      const { number, since = 0 } = keyset.generations[keyset.generations.length - 1];
      if (number !== keyGeneration || version < since) return null;
      if (indexName === this.indexName) return record;
      const name = recordName(indexName, 1);
      return { indexName, name, bytes: sealRecord(checkOwners(keyset, this.indexName), scope, name) };
    });
  }

  /** Deletes the records that the one in force replaced. Those of later generations may yet come into force. */
  async deleteOlder(generation: number): Promise<void> {
    const records = await this.#records();
    const older = records.slice(records.indexOf(recordInForce(records, generation)) + 1);
    await this.#configStore.delete(
      older.filter((one) => one.generation <= generation).map(({ name }) => name),
    );
  }

  /**
   * Deletes the records of this index, and none of a later index of its name, unless that is created between the read of a record
   * and its deletion: storage has no conditional delete.
   */
  async deleteAll(): Promise<void> {
    const names = await listRecords(this.#configStore, this.indexName);
    const own = await Promise.all(
      names.map(async (name) => {
        const bytes = await readObject(this.#configStore, "record", name);
        // Deleted since it was listed: a new index may have the key by now.
        if (bytes === null) return [];
        const indexId = claimedIndexId(bytes);
        return indexId === undefined || equalInConstantTime(indexId, this.scope.indexId) ? name : [];
      }),
    );
    await this.#configStore.delete(own.flat());
  }

  #take(record: StoredRecord, wrapKeys: WrapKeys): void {
    useKeyset(wrapKeys, record, (keyset) => this.keys.update(keyset));
  }

  async #inForce(generation: number): Promise<ListedRecord> {
    return recordInForce(await this.#records(), generation);
  }

  async #records(): Promise<ListedRecord[]> {
    const records = await readRecords(this.#configStore, this.indexName);
    const isOurs = ({ indexId }: ListedRecord) => equalInConstantTime(indexId, this.scope.indexId);
    if (records.length > 0 && records.every(isOurs)) return records;
    throw new SealdexError("not_found", `index "${this.indexName}": it was deleted`);
  }
}
