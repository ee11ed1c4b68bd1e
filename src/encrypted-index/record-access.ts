/** The index record as one holder of a key sees it, and its next version as the owner makes it. */

import { createConfirmed } from "../commit/create-confirmed.js";
import { isNumbered, numberOf, recordName, recordPrefix } from "../commit/object-names.js";
import { equalInConstantTime, type WrapKeys } from "../crypto/keys.js";
import { SealdexError } from "../errors.js";
import type { KeySource } from "../keys/key-provider.js";
import type { KeyRing } from "../keys/key-ring.js";
import type { OwnerKeyset } from "../keys/keyset.js";
import type { WrapScope } from "../keys/wrap.js";
import type { BlobStore } from "../storage/blob-store.js";
import {
  checkOwners,
  claimedIndexId,
  indexIdOf,
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

/** Returns the owner's next keyset, or null to leave it as it is. It must not keep the one that it gets. */
export type ChangeKeyset = (owner: OwnerKeyset<IndexDefinition>) => OwnerKeyset<IndexDefinition> | null;

export class RecordAccess {
  readonly indexName: string;
  readonly scope: WrapScope;
  readonly keys: KeyRing;
  readonly #configStore: BlobStore;
  #wrapKeys: WrapKeys;

  constructor(indexName: string, { indexId, salt, wrapKeys, keys }: OpenedRecord, configStore: BlobStore) {
    this.indexName = indexName;
    this.scope = { indexId, salt };
    this.keys = keys;
    this.#wrapKeys = wrapKeys;
    this.#configStore = configStore;
  }

  /** Takes over the keys of the newest record. Throws `wrong_index_key` if it has none for this holder. */
  async renew(): Promise<void> {
    this.#take(await this.#newest());
  }

  /** Opens the newest record by another key from now on. Throws `wrong_index_key` if that is of no wrap. */
  async adopt(source: KeySource): Promise<void> {
    const record = await this.#newest();
    this.#wrapKeys = await wrapKeysOf(source, record);
    this.#take(record);
  }

  /** What `work` returns of the owner's keyset, which is zeroed afterwards. Throws `forbidden` unless it is the owner's. */
  async read<T>(work: (owner: OwnerKeyset<IndexDefinition>) => T): Promise<T> {
    const record = await this.#newest();
    return useKeyset(this.#wrapKeys, record, (keyset) => work(checkOwners(keyset, this.indexName)));
  }

  /**
   * Stores the next record: the only write that it takes to change who may open the index. Made again if another process was
   * first. Returns false if `change` declined. `wrapKeys`: of the wrap that the owner has from then on.
   */
  async replace(change: ChangeKeyset, wrapKeys = this.#wrapKeys): Promise<boolean> {
    for (;;) {
      const record = await this.#newest();
      const name = recordName(this.indexName, numberOf(record.name) + 1);
      const bytes = useKeyset(this.#wrapKeys, record, (keyset, scope) => {
        const next = change(checkOwners(keyset, this.indexName));
        if (next === null) return null;
        const sealed = sealRecord(next, scope, name);
        // New ones are no part of the keyset that is zeroed.
        for (const { secret } of next.generations) secret.fill(0);
        next.signingSeed.fill(0);
        return sealed;
      });
      if (bytes === null) return false;
      if (!(await createConfirmed(this.#configStore, name, bytes))) continue;
      this.#wrapKeys = wrapKeys;
      this.#take({ indexName: this.indexName, name, bytes });
      return true;
    }
  }

  /** The newest record, or for an index of another name one to create. That takes the owner's key: throws `forbidden`. */
  async forName(indexName: string): Promise<StoredRecord> {
    const record = await this.#newest();
    if (indexName === this.indexName) return record;
    const name = recordName(indexName, 1);
    const bytes = useKeyset(this.#wrapKeys, record, (keyset, scope) =>
      sealRecord(checkOwners(keyset, this.indexName), scope, name),
    );
    return { indexName, name, bytes };
  }

  /** Deletes the records that a newer one replaced. */
  async deleteOlder(): Promise<void> {
    const [, ...older] = await this.#configStore.list(recordPrefix(this.indexName));
    await this.#configStore.delete(older);
  }

  /**
   * Deletes the records of this index, and none of a later index of its name, unless that is created between the read of a record
   * and its deletion: storage has no conditional delete.
   */
  async deleteAll(): Promise<void> {
    const names = await listRecords(this.#configStore, this.indexName);
    const own = await Promise.all(
      names.map(async (name) => {
        const bytes = await this.#configStore.read(name);
        // Deleted since it was listed: a new index may have the key by now.
        if (bytes === null) return [];
        const indexId = claimedIndexId(bytes);
        return indexId === undefined || equalInConstantTime(indexId, this.scope.indexId) ? name : [];
      }),
    );
    await this.#configStore.delete(own.flat());
  }

  #take(record: StoredRecord): void {
    useKeyset(this.#wrapKeys, record, (keyset) => this.keys.update(keyset));
  }

  async #newest(): Promise<StoredRecord> {
    const { indexName } = this;
    for (let attempt = 1; attempt <= readAttemptsMax; attempt++) {
      const [name] = await this.#configStore.list(recordPrefix(indexName), { limit: 1 });
      if (name === undefined) break;
      const bytes = await this.#configStore.read(name);
      // Deleted since it was listed: then there is a newer one.
      if (bytes === null) continue;
      if (!equalInConstantTime(indexIdOf(indexName, bytes), this.scope.indexId)) break;
      return { indexName, name, bytes };
    }
    throw new SealdexError("not_found", `index "${indexName}": it was deleted`);
  }
}
