/**
 * The namespaces of an index. Each has a random secret in a small object of its own, without which its segments cannot be
 * read: deleting that object erases the namespace. docs/decisions/commit.md has the argument why it does not come back.
 *
 * A secret serves from the moment it is drawn until its namespace is erased or has no segments any more. A manifest decides: it
 * either names segments of the namespace, or as many namespaces were erased as when the secret was drawn. A secret that a manifest
 * does not let write is dead for ever.
 */

import { randomBytes } from "node:crypto";
import { fingerprint, fingerprintBytes, keyBytes, secretKey } from "../crypto/keys.js";
import { openObject, type ParentKeys, sealObject } from "../crypto/sealed-object.js";
import { SealdexError } from "../errors.js";
import type { BlobStore } from "../storage/blob-store.js";
import { createConfirmed } from "./create-confirmed.js";
import type { IndexIdentity } from "./index-identity.js";
import { type Manifest, namesNamespace } from "./manifest.js";
import { readObject } from "./read-object.js";
import { isNumbered, namespaceName, namespacePrefix, namespacesPrefix, numberOf } from "./object-names.js";

/** A namespace under one of its secrets. */
export interface Namespace {
  /** 16 random bytes, hexadecimal. What is written after the namespace was erased has another id. */
  readonly id: string;
  readonly name: string;
  /** Under which its secret is stored. */
  readonly objectName: string;
  /** How many namespaces had been erased when its secret was drawn. */
  readonly erasures: number;
  /** Seal its segments. */
  readonly keys: ParentKeys;
}

/** Secrets that are read at a time. */
const secretsTogether = 64;

/** Whether segments of the namespace may be committed after this manifest. */
export function canBeWritten(manifest: Manifest, { id, erasures }: Namespace): boolean {
  return namesNamespace(manifest, id) || erasures === (manifest.erasures ?? 0);
}

/** Whether no manifest after this one will let it be written: a secret that was drawn before the last erasure and is not named. */
function isDead(manifest: Manifest, namespace: Namespace): boolean {
  return namespace.erasures < (manifest.erasures ?? 0) && !canBeWritten(manifest, namespace);
}

export class Namespaces {
  readonly #store: BlobStore;
  readonly #index: IndexIdentity;
  readonly #known = new Map<string, Namespace>();
  #reading: Promise<void> | undefined;

  /** `store`: where the manifests are. */
  constructor(store: BlobStore, index: IndexIdentity) {
    this.#store = store;
    this.#index = index;
  }

  /** The namespace of this name that `manifest` has segments of. */
  async find(name: string, manifest: Manifest): Promise<Namespace | undefined> {
    const known = this.known(name, manifest);
    if (known !== undefined) return known;
    return (await this.stored(name)).find(({ id }) => namesNamespace(manifest, id));
  }

  /** As `find`, among those whose secrets were read. */
  known(name: string, manifest: Manifest): Namespace | undefined {
    const isFound = (namespace: Namespace) =>
      namespace.name === name && namesNamespace(manifest, namespace.id);
    return [...this.#known.values()].find(isFound);
  }

  /** The namespace of this name for segments that are to be committed after `manifest`, or after one that lets it be written. */
  async forWriting(name: string, manifest: Manifest): Promise<Namespace> {
    const { indexId, keys } = this.#index;
    const isFound = (namespace: Namespace) => namespace.name === name && canBeWritten(manifest, namespace);
    const known = [...this.#known.values()].find(isFound);
    if (known !== undefined) return known;
    const stored = await this.stored(name);
    const found = stored.find(isFound);
    if (found !== undefined) return found;
    // Left by an erasure that was interrupted.
    await this.destroy(stored.filter((one) => isDead(manifest, one)).map((one) => one.objectName));
    const handle = fingerprint(keys.namespaceName, name);
    const objectName = namespaceName(indexId, handle, manifest.erasures ?? 0);
    const plaintext = Buffer.concat([
      randomBytes(fingerprintBytes),
      randomBytes(keyBytes),
      Buffer.from(name, "utf8"),
    ]);
    const bytes = sealObject(keys.namespace, { kind: "namespace", indexId, name: objectName }, plaintext);
    plaintext.fill(0);
    if (await createConfirmed(this.#store, objectName, bytes)) return this.#open(objectName, bytes);
    // Another process drew it at the same time.
    return (await this.#read(objectName)) ?? this.forWriting(name, manifest);
  }

  /** The namespace with this id. Throws `missing_object` if its secret was destroyed. */
  async byId(id: string): Promise<Namespace> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
    const found = this.#known.get(id);
    if (found !== undefined) return found;
    throw new SealdexError("missing_object", `namespace ${id}: its secret is gone`);
  }

  /** Every secret of this name that is stored, also those that no manifest lets write. */
  async stored(name: string): Promise<Namespace[]> {
    const { indexId, keys } = this.#index;
    const prefix = namespacePrefix(indexId, fingerprint(keys.namespaceName, name));
    const names = (await this.#store.list(prefix)).filter((key) => isNumbered(key, prefix));
    const found = await Promise.all(names.map((objectName) => this.#read(objectName)));
    return found.filter((namespace) => namespace !== null);
  }

  /** Names of all stored secrets. */
  async objectNames(): Promise<string[]> {
    const prefix = namespacesPrefix(this.#index.indexId);
    const names = await this.#store.list(prefix);
    return names.filter((name) => /^[0-9a-f]{32}\/\d{16}$/.test(name.slice(prefix.length)));
  }

  /** Deletes secrets. Throws `storage_unavailable` if one is still there afterwards. */
  async destroy(objectNames: readonly string[]): Promise<void> {
    if (objectNames.length === 0) return;
    const destroyed = new Set(objectNames);
    for (const [id, { objectName }] of this.#known) if (destroyed.has(objectName)) this.#known.delete(id);
    await this.#store.delete(objectNames);
    const left = await Promise.all(
      objectNames.map((name) => this.#store.read(name, { offset: 0, length: 0 })),
    );
    if (left.every((bytes) => bytes === null)) return;
    throw new SealdexError(
      "storage_unavailable",
      "namespace: the storage still has its secret after deleting it",
    );
  }

  /** Deletes secrets that no process may use any more. */
  async destroyDead(manifest: Manifest): Promise<number> {
    const names = await this.objectNames();
    const erasures = manifest.erasures ?? 0;
    const older = names.filter((name) => numberOf(name) < erasures);
    const dead: string[] = [];
    for (let start = 0; start < older.length; start += secretsTogether) {
      const some = older.slice(start, start + secretsTogether);
      const read = await this.#knownOrRead(some);
      dead.push(...read.flatMap((one) => (one !== null && isDead(manifest, one) ? [one.objectName] : [])));
    }
    await this.destroy(dead);
    return dead.length;
  }

  /** Forgets the secrets that `manifest`, the newest, does not let write. */
  forget(manifest: Manifest): void {
    const written = new Set(manifest.segments.map(({ namespace }) => namespace));
    for (const [id, { erasures }] of this.#known) {
      if (!written.has(id) && erasures !== (manifest.erasures ?? 0)) this.#known.delete(id);
    }
  }

  async #readAll(): Promise<void> {
    const names = await this.objectNames();
    for (let start = 0; start < names.length; start += secretsTogether) {
      await this.#knownOrRead(names.slice(start, start + secretsTogether));
    }
  }

  /** Those that are under these names. Null if one was destroyed since it was listed. */
  async #knownOrRead(objectNames: readonly string[]): Promise<(Namespace | null)[]> {
    const known = new Map(Array.from(this.#known.values(), (one) => [one.objectName, one]));
    return Promise.all(objectNames.map(async (name) => known.get(name) ?? this.#read(name)));
  }

  /** Null if it was destroyed since it was listed. */
  async #read(objectName: string): Promise<Namespace | null> {
    const bytes = await readObject(this.#store, "namespace", objectName);
    return bytes === null ? null : this.#open(objectName, bytes);
  }

  #open(objectName: string, bytes: Uint8Array): Namespace {
    const { indexId, keys } = this.#index;
    const plaintext = openObject(keys.namespace, { kind: "namespace", indexId, name: objectName }, bytes);
    const id = Buffer.from(plaintext.subarray(0, fingerprintBytes)).toString("hex");
    const secret = secretKey(plaintext.subarray(fingerprintBytes, fingerprintBytes + keyBytes));
    const name = Buffer.from(plaintext.subarray(fingerprintBytes + keyBytes)).toString("utf8");
    const namespace = { id, name, objectName, erasures: numberOf(objectName), keys: keys.dataOf(secret) };
    this.#known.set(id, namespace);
    return namespace;
  }
}
