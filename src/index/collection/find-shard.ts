/** Finds the record of a shard, which only the collection's secrets open. */

import type { KeyObject } from "node:crypto";
import { SealdexError } from "../../errors.js";
import type { ShardRef } from "../../state/commit/manifest.js";
import { shardName } from "../../state/commit/object-names.js";
import type { ClientStores } from "../open/client-resources.js";
import { openRecord, type OpenedRecord } from "../open/index-record.js";
import { findRecord } from "../open/record-access.js";

export interface FoundShard {
  readonly name: string;
  readonly opened: OpenedRecord;
  /** The key that opened it. */
  readonly key: KeyObject;
}

/** Throws `missing_object`, `rollback_detected` if the record is of another index, and `wrong_index_key` if none of the keys opens it. */
export async function findShard(
  { configStore }: ClientStores,
  collectionId: Uint8Array,
  ref: Pick<ShardRef, "from" | "indexId" | "suffix">,
  keys: readonly KeyObject[],
): Promise<FoundShard> {
  const name = shardName(collectionId, ref);
  const record = await findRecord(configStore, name);
  if (record === undefined) {
    throw new SealdexError(
      "missing_object",
      "collection: a shard is not at these locations, or not any more",
    );
  }
  for (const key of keys) {
    try {
      const opened = await openRecord(key, record);
      if (Buffer.from(opened.indexId).toString("hex") === ref.indexId) return { name, opened, key };
      throw new SealdexError("rollback_detected", "collection: a shard was replaced by another index");
    } catch (error) {
      if (!isWrongKeyError(error)) throw error;
    }
  }
  throw new SealdexError(
    "wrong_index_key",
    "collection: this key does not open a shard, as after a rotation",
  );
}

export function isWrongKeyError(error: unknown): boolean {
  return error instanceof SealdexError && error.code === "wrong_index_key";
}
