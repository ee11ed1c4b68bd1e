/**
 * The keys of one open index, which open, seal, sign and verify all its objects. They change while
 * the index is open, when the owner draws new ones; see `IndexAccess`.
 */

import type { KeyObject } from "node:crypto";
import { deriveDataKey, deriveLastingKeys, deriveNamespaceKey, secretKey } from "../crypto/keys.js";
import { onlyKey, type ParentKeys } from "../crypto/sealed-object.js";
import { isSignedBy, signingKeyOf, signMessage, verifyKey } from "../crypto/signing.js";
import { SealdexError } from "../errors.js";
import { type Access, currentGeneration, type Keyset } from "./keyset.js";
import { own } from "../checks/value-kinds.js";

interface Generation {
  readonly data: KeyObject;
  readonly verify: KeyObject;
  /** The seed until the first signature, then the private key, which is slow to derive. */
  signing?: KeyObject | undefined;
  since?: number | undefined;
}

/** Keys of the names of ids and of namespaces. */
export type NamingKeys = Pick<KeyRing, "id" | "namespaceName">;

export class KeyRing {
  /** Computes fingerprints of ids. */
  id: KeyObject;
  /** Seals the secrets of namespaces. */
  readonly namespace: ParentKeys;
  /** Computes the storage names of namespaces. */
  namespaceName: KeyObject;
  /** Seals manifests, anchors, models and segments outside namespaces. */
  readonly data: ParentKeys;
  readonly access: Access;
  readonly #indexId: Uint8Array;
  readonly #generations = new Map<number, Generation>();
  #generation = 0;
  #oldest = 0;
  #expiresAt = Infinity;

  /** Zeroes the secrets of `keyset` except those of members. */
  constructor(indexId: Uint8Array, keyset: Keyset<unknown>) {
    const { id, namespace, namespaceName } = deriveLastingKeys(keyset.indexSecret, indexId);
    this.id = id;
    this.namespace = onlyKey(namespace);
    this.namespaceName = namespaceName;
    this.access = keyset.access;
    this.#indexId = indexId;
    this.update(keyset);
    this.#generation = currentGeneration(keyset);
    this.data = this.#parentKeys((number) => this.#generations.get(number)?.data);
  }

  /** Names ids and namespaces as another index does: a shard as its collection, so that all shards order equal scores alike. */
  nameAs({ id, namespaceName }: NamingKeys): void {
    this.id = id;
    this.namespaceName = namespaceName;
  }

  /** Seals segments of the namespace with this secret. */
  dataOf(secret: KeyObject): ParentKeys {
    const derived = new Map<number, KeyObject>();
    return this.#parentKeys((number) => {
      const data = this.#generations.get(number)?.data;
      const key = derived.get(number) ?? (data && deriveNamespaceKey(data, secret, this.#indexId));
      if (key !== undefined) derived.set(number, key);
      return key;
    });
  }

  #parentKeys(key: ParentKeys["key"]): ParentKeys {
    const generation = () => this.#generation;
    return {
      get generation() {
        return generation();
      },
      key,
    };
  }

  /**
   * The generation in force as far as known: that of the newest manifest or of the opened record.
   */
  get generation(): number {
    return this.#generation;
  }

  /** Advances to the generation of the newest manifest. */
  advance(manifestGeneration: number): void {
    this.#generation = Math.max(this.#generation, manifestGeneration);
  }

  has(generation: number): boolean {
    return this.#generations.has(generation);
  }

  /** The first version that the generation in force signs; undefined if its record has none yet. */
  get since(): number | undefined {
    return this.#generations.get(this.#generation)?.since;
  }

  /** The oldest generation of the last record that was read. */
  get oldest(): number {
    return this.#oldest;
  }

  /**
   * Whether this generation may sign a commit of this version: no later one is in force by then.
   */
  counts(generation: number, version: number): boolean {
    return [...this.#generations].every(
      ([number, { since = Infinity }]) => number <= generation || version < since,
    );
  }

  /** Replaces the keyset by another of the same holder, and zeroes its secrets. */
  update(keyset: Keyset<unknown>): void {
    for (const { number, secret, verifyKey: bytes, since } of keyset.generations) {
      const known = this.#generations.get(number);
      const keys = known ?? { data: deriveDataKey(secret, this.#indexId), verify: verifyKey(bytes) };
      if (known === undefined) this.#generations.set(number, keys);
      keys.since ??= since;
      secret.fill(0);
    }
    keyset.indexSecret.fill(0);
    this.#oldest = keyset.generations[0].number;
    const current = this.#generations.get(currentGeneration(keyset));
    if (current !== undefined && keyset.signingSeed) current.signing ??= secretKey(keyset.signingSeed);
    this.#expiresAt = own(keyset).expiresAt ?? Infinity;
    keyset.signingSeed?.fill(0);
  }

  /** Throws `forbidden` if the holder's access has expired. */
  checkUnexpired(indexName: string, now: number): void {
    if (now < this.#expiresAt) return;
    throw new SealdexError("forbidden", `index "${indexName}": the access by this key has expired`);
  }

  /** Throws `forbidden` if the holder lacks `access`. */
  check(access: Exclude<Access, "read-only">, indexName: string): void {
    if (this.access === "owner" || this.access === access) return;
    throw new SealdexError(
      "forbidden",
      `index "${indexName}": requires a key with ${access} access, got a ${this.access} key`,
    );
  }

  /** Returns 64 bytes, signed by the key of a generation. Throws `forbidden` without that key. */
  sign(label: string, message: Uint8Array, generation = this.#generation): Uint8Array {
    const keys = this.#generations.get(generation);
    if (keys?.signing === undefined) {
      throw new SealdexError("forbidden", "index key: requires read-write access");
    }
    if (keys.signing.type === "secret") keys.signing = signingKeyOf(keys.signing);
    return signMessage(keys.signing, label, message);
  }

  isSigned(generation: number, label: string, message: Uint8Array, signature: Uint8Array): boolean {
    const known = this.#generations.get(generation);
    return known !== undefined && isSignedBy(known.verify, label, message, signature);
  }
}
