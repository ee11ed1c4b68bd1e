/**
 * Secrets of groups of items that share segments, such as the threads of a LangGraph saver. Each is 32 random bytes in a small object of its
 * own, next to the secrets of namespaces: deleting that object makes the contents of the group unreadable. Contents name the secret that
 * seals them, whose name is random, so a secret that was destroyed is never drawn again.
 */

import { randomBytes } from "node:crypto";
import { keyBytes, secretKey } from "../../crypto/keys.js";
import { onlyKey, openObject, type ParentKeys, sealObject } from "../../crypto/sealed-object.js";
import { SealdexError } from "../../errors.js";
import type { BlobStore } from "../../storage/blob-store.js";
import { createConfirmed } from "./create-confirmed.js";
import type { IndexIdentity } from "./index-folder.js";
import { destroySecrets } from "./namespaces.js";
import { groupName, groupsPrefix } from "./object-names.js";
import { readObject } from "./read-object.js";

const idBytes = 16;

/** Seals contents of items. */
export class SealingSecret {
  /** 32 hexadecimal characters. */
  readonly id: string;
  /** Once the secret is stored. */
  readonly stored: Promise<void>;
  readonly #indexId: Uint8Array;
  readonly #keys: ParentKeys;

  /** Zeroes the secret. */
  constructor(indexId: Uint8Array, id: string, secret: Uint8Array, stored: Promise<void>) {
    this.id = id;
    this.stored = stored;
    this.#indexId = indexId;
    this.#keys = onlyKey(secretKey(secret));
  }

  /** `itemId`: of the item that will have the contents, in ASCII. */
  seal(itemId: string, plaintext: Uint8Array): Uint8Array {
    return sealObject(this.#keys, { kind: "grouped", indexId: this.#indexId, name: itemId }, plaintext);
  }

  /** Throws `corrupt` unless this secret sealed the contents for the item. */
  open(itemId: string, sealed: Uint8Array): Uint8Array {
    return openObject(this.#keys, { kind: "grouped", indexId: this.#indexId, name: itemId }, sealed);
  }
}

export class GroupSecrets {
  readonly #store: BlobStore;
  readonly #index: Pick<IndexIdentity, "indexId" | "keys">;

  /** `store`: where the manifests are. */
  constructor(store: BlobStore, index: Pick<IndexIdentity, "indexId" | "keys">) {
    this.#store = store;
    this.#index = index;
  }

  draw(): SealingSecret {
    const { indexId, keys } = this.#index;
    const id = randomBytes(idBytes).toString("hex");
    const name = groupName(indexId, id);
    const secret = randomBytes(keyBytes);
    const bytes = sealObject(keys.namespace, { kind: "group", indexId, name }, secret);
    const stored = createConfirmed(this.#store, name, bytes).then((isStored) => {
      if (!isStored) throw new SealdexError("internal", `stored object ${name}: a new random name is taken`);
    });
    stored.catch(() => undefined);
    return new SealingSecret(indexId, id, secret, stored);
  }

  /** Undefined if it was destroyed. */
  async read(id: string): Promise<SealingSecret | undefined> {
    const { indexId, keys } = this.#index;
    const name = this.#nameOf(id);
    const bytes = await readObject(this.#store, "group", name);
    if (bytes === null) return undefined;
    const secret = openObject(keys.namespace, { kind: "group", indexId, name }, bytes);
    if (secret.length !== keyBytes) {
      throw new SealdexError("corrupt", `stored object ${name}: it is not a secret`);
    }
    return new SealingSecret(indexId, id, secret, Promise.resolve());
  }

  /** Throws `storage_unavailable` if one is still there afterwards. */
  async destroy(ids: readonly string[]): Promise<void> {
    await destroySecrets(
      this.#store,
      "group",
      ids.map((id) => this.#nameOf(id)),
    );
  }

  /** Ids come from items, in which a writer can store anything. */
  #nameOf(id: string): string {
    if (typeof id === "string" && isGroupId(id)) return groupName(this.#index.indexId, id);
    throw new SealdexError("corrupt", "item: it does not name a secret");
  }
}

/** Names of all secrets of groups that the storage lists. `store`: where the manifests are. */
export async function groupSecretNames(store: BlobStore, indexId: Uint8Array): Promise<string[]> {
  const prefix = groupsPrefix(indexId);
  return (await store.list(prefix)).filter((name) => isGroupId(name.slice(prefix.length)));
}

function isGroupId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}
