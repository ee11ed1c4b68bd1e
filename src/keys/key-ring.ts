/**
 * The keys of one open index, by which everything of it is opened, sealed, signed and checked. They change while the index is
 * open: the owner draws new ones, see `IndexAccess`.
 */

import type { KeyObject } from "node:crypto";
import { deriveDataKey, deriveLastingKeys, deriveNamespaceKey, secretKey } from "../crypto/keys.js";
import { onlyKey, type ParentKeys } from "../crypto/sealed-object.js";
import { isSignedBy, signingKeyOf, signMessage, verifyKey } from "../crypto/signing.js";
import { SealdexError } from "../errors.js";
import { type Access, currentGeneration, type Keyset } from "./keyset.js";

interface Generation {
  readonly data: KeyObject;
  readonly verify: KeyObject;
}

export class KeyRing {
  /** Makes fingerprints of ids. */
  readonly id: KeyObject;
  /** Seals anchors. */
  readonly anchor: ParentKeys;
  /** Seals the secrets of namespaces. */
  readonly namespace: ParentKeys;
  /** Makes the names of namespaces in storage. */
  readonly namespaceName: KeyObject;
  /** Seal manifests, models and segments of no namespace. */
  readonly data: ParentKeys;
  readonly access: Access;
  readonly #indexId: Uint8Array;
  readonly #generations = new Map<number, Generation>();
  #generation = 0;
  /** The seed until the first signature, then the private key, which is slow to make. */
  #signing: KeyObject | undefined;
  #expiresAt = Infinity;

  /** Zeroes the secrets of `keyset` that it takes over: all but those of members. */
  constructor(indexId: Uint8Array, keyset: Keyset<unknown>) {
    const { id, anchor, namespace, namespaceName } = deriveLastingKeys(keyset.indexSecret, indexId);
    this.id = id;
    this.anchor = onlyKey(anchor);
    this.namespace = onlyKey(namespace);
    this.namespaceName = namespaceName;
    this.access = keyset.access;
    this.#indexId = indexId;
    this.update(keyset);
    this.data = this.#parentKeys((number) => this.#generations.get(number)?.data);
  }

  /** Seal segments of the namespace that has this secret. */
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

  /** The generation in force, as far as is known here. */
  get generation(): number {
    return this.#generation;
  }

  has(generation: number): boolean {
    return this.#generations.has(generation);
  }

  /** Takes over a newer keyset of the same holder, and zeroes its secrets. */
  update(keyset: Keyset<unknown>): void {
    for (const { number, secret, verifyKey: bytes } of keyset.generations) {
      if (!this.#generations.has(number)) {
        const data = deriveDataKey(secret, this.#indexId);
        this.#generations.set(number, { data, verify: verifyKey(bytes) });
      }
      secret.fill(0);
    }
    keyset.indexSecret.fill(0);
    const current = currentGeneration(keyset);
    this.#expiresAt = keyset.expiresAt ?? Infinity;
    if (current >= this.#generation) {
      this.#generation = current;
      this.#signing = keyset.signingSeed && secretKey(keyset.signingSeed);
    }
    keyset.signingSeed?.fill(0);
  }

  /** Throws `forbidden` if the holder's access had an end and it has come. */
  checkUnexpired(indexName: string, now: number): void {
    if (now < this.#expiresAt) return;
    throw new SealdexError("forbidden", `index "${indexName}": the access by this key has expired`);
  }

  /** Throws `forbidden` unless the holder may do what needs `access`. */
  check(access: Exclude<Access, "read-only">, indexName: string): void {
    if (this.access === "owner" || this.access === access) return;
    throw new SealdexError(
      "forbidden",
      `index "${indexName}": expected a key with ${access} access, this one is ${this.access}`,
    );
  }

  /** 64 bytes, by the key of the generation in force. */
  sign(label: string, message: Uint8Array): Uint8Array {
    if (this.#signing === undefined) {
      throw new SealdexError("forbidden", "index key: expected one with read-write access");
    }
    if (this.#signing.type === "secret") this.#signing = signingKeyOf(this.#signing);
    return signMessage(this.#signing, label, message);
  }

  isSigned(generation: number, label: string, message: Uint8Array, signature: Uint8Array): boolean {
    const known = this.#generations.get(generation);
    return known !== undefined && isSignedBy(known.verify, label, message, signature);
  }
}
