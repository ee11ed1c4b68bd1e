/**
 * The namespaces of an index. Each has a random secret in a small object of its own, without which its segments cannot be
 * read: deleting that object erases the namespace. docs/internals/decisions/keys.md says why it does not come back.
 *
 * Manifests, which writers sign, say which secret a namespace has: its id is made of the handle and the number in the name of that object,
 * and of a check of the secret. Whoever could open the index once can store other secrets, and they are refused.
 *
 * A secret serves from the moment it is drawn until its namespace is erased or has no segments any more. A manifest decides: it
 * either names the namespace, or as many namespaces were erased as when the secret was drawn. A secret that a manifest
 * does not let write is dead for ever.
 */

import { randomBytes } from "node:crypto";
import { fingerprint, keyBytes, namespaceCheck, secretKey } from "../../crypto/keys.js";
import { openObject, type ParentKeys, sealObject } from "../../crypto/sealed-object.js";
import { SealdexError } from "../../errors.js";
import type { BlobStore } from "../../storage/blob-store.js";
import { type Check, checkStored, Misfit } from "../../checks/stored-json.js";
import { createConfirmed } from "./create-confirmed.js";
import type { IndexIdentity } from "./index-folder.js";
import type { Manifest } from "./manifest.js";
import { readObject } from "./read-object.js";
import { isNumbered, namespaceName, namespacePrefix, namespacesPrefix, numberOf } from "./object-names.js";

/** A namespace under one of its secrets. */
export interface Namespace {
  /** As manifests name it: handle, erasures and check, see `idOf`. Items written after an erasure have another id. */
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

const nameBytesMax = 512;

/** The name of a namespace: 1 to 512 bytes in UTF-8. */
export const namespaceText: Check<string> = (value) => {
  if (typeof value === "string" && value !== "" && Buffer.byteLength(value) <= nameBytesMax) return value;
  throw new Misfit(`a name of 1 to ${nameBytesMax} bytes`);
};

function textOf(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString("utf8");
  // Bytes that are not UTF-8 do not survive a round trip.
  if (Buffer.compare(Buffer.from(text, "utf8"), bytes) !== 0) throw new Misfit("a name in UTF-8");
  return namespaceText(text);
}

/** The keyed fingerprint of the name of the namespace with this id, hexadecimal. */
export function handleOf(id: string): string {
  return id.split("-", 1)[0];
}

/** Whether segments of the namespace may be committed after this manifest. */
export function canBeWritten(manifest: Manifest, { id, erasures }: Namespace): boolean {
  const named = namedAs(manifest, handleOf(id));
  return named === undefined ? erasures === (manifest.erasures ?? 0) : named === id;
}

/** The id of the namespace with this handle that has segments. */
function namedAs({ segments }: Manifest, handle: string): string | undefined {
  return segments.find(({ namespace }) => namespace?.startsWith(handle))?.namespace;
}

/** The ids of the namespaces that have segments. */
function namedIds({ segments }: Manifest): string[] {
  return [...new Set(segments.flatMap(({ namespace }) => namespace ?? []))];
}

export class NamespaceSecrets {
  readonly #store: BlobStore;
  readonly #index: IndexIdentity;
  readonly #known = new Map<string, Namespace>();
  readonly #reading = new Map<string, Promise<Namespace>>();

  /** `store`: where the manifests are. */
  constructor(store: BlobStore, index: IndexIdentity) {
    this.#store = store;
    this.#index = index;
  }

  /** The id of the namespace of this name; undefined if it has no segments. */
  idOf(name: string, manifest: Manifest): string | undefined {
    return namedAs(manifest, this.#handle(name).toString("hex"));
  }

  /** The namespace of this name for segments that are to be committed after `manifest`, or after one that lets it be written. */
  async forWriting(name: string, manifest: Manifest): Promise<Namespace> {
    const named = this.idOf(name, manifest);
    if (named !== undefined) return this.byId(named);
    const { indexId, keys } = this.#index;
    const objectName = namespaceName(indexId, this.#handle(name), manifest.erasures ?? 0);
    const known = [...this.#known.values()].find((one) => one.objectName === objectName);
    if (known !== undefined) return known;
    const stored = await readObject(this.#store, "namespace", objectName);
    if (stored !== null) return this.#open(objectName, stored);
    const plaintext = Buffer.concat([randomBytes(keyBytes), Buffer.from(name, "utf8")]);
    const bytes = sealObject(keys.namespace, { kind: "namespace", indexId, name: objectName }, plaintext);
    plaintext.fill(0);
    if (await createConfirmed(this.#store, objectName, bytes)) return this.#open(objectName, bytes);
    // Another process drew it at the same time.
    return this.forWriting(name, manifest);
  }

  /** The namespace with this id. Throws `missing_object` if its secret was destroyed, `corrupt` if another is in its place. */
  async byId(id: string): Promise<Namespace> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const reading = this.#reading.get(id) ?? this.#read(id).finally(() => this.#reading.delete(id));
    this.#reading.set(id, reading);
    return reading;
  }

  /** All that have segments. */
  async all(manifest: Manifest): Promise<Namespace[]> {
    const ids = namedIds(manifest);
    const all: Namespace[] = [];
    for (let start = 0; start < ids.length; start += secretsTogether) {
      const some = ids.slice(start, start + secretsTogether);
      all.push(...(await Promise.all(some.map((id) => this.byId(id)))));
    }
    return all;
  }

  /** Names of the secrets that the namespaces of a manifest have. */
  objectNamesOf(manifest: Manifest): string[] {
    return namedIds(manifest).map((id) => this.objectNameOf(id));
  }

  /** The name of the secret that the namespace with this id has. */
  objectNameOf(id: string): string {
    const [handle, erasures] = id.split("-");
    return namespaceName(this.#index.indexId, Buffer.from(handle, "hex"), Number(erasures));
  }

  /** Names of all secrets that the storage lists. */
  async objectNames(): Promise<string[]> {
    const prefix = namespacesPrefix(this.#index.indexId);
    const names = await this.#store.list(prefix);
    return names.filter((name) => /^[0-9a-f]{32}\/\d{16}$/.test(name.slice(prefix.length)));
  }

  /** Names of the secrets that are listed and that no process may use any more once `manifest` is committed. `name`: of that namespace alone. */
  async deadObjectNames(manifest: Manifest, name?: string): Promise<string[]> {
    const prefix = name === undefined ? "" : namespacePrefix(this.#index.indexId, this.#handle(name));
    const names =
      name === undefined
        ? await this.objectNames()
        : (await this.#store.list(prefix)).filter((key) => isNumbered(key, prefix));
    const named = new Set(this.objectNamesOf(manifest));
    return names.filter((key) => numberOf(key) < (manifest.erasures ?? 0) && !named.has(key));
  }

  /** Deletes secrets. Throws `storage_unavailable` if one is still there afterwards. */
  destroy(objectNames: readonly string[]): Promise<void> {
    const destroyed = new Set(objectNames);
    for (const [id, { objectName }] of this.#known) if (destroyed.has(objectName)) this.#known.delete(id);
    return destroySecrets(this.#store, "namespace", objectNames);
  }

  /** Forgets the secrets that `manifest`, the newest, does not let write. */
  forget(manifest: Manifest): void {
    const named = new Set(namedIds(manifest));
    for (const [id, { erasures }] of this.#known) {
      if (!named.has(id) && erasures !== (manifest.erasures ?? 0)) this.#known.delete(id);
    }
  }

  #handle(name: string): Buffer {
    return Buffer.from(fingerprint(this.#index.keys.namespaceName, name));
  }

  async #read(id: string): Promise<Namespace> {
    const objectName = this.objectNameOf(id);
    const bytes = await readObject(this.#store, "namespace", objectName);
    if (bytes === null)
      throw new SealdexError(
        "missing_object",
        `stored object ${objectName}: the secret of a namespace is gone`,
      );
    return this.#open(objectName, bytes, id);
  }

  /** Throws `corrupt` unless it is the secret that a namespace of this name has, and of the id if one is given. */
  #open(objectName: string, bytes: Uint8Array, expected?: string): Namespace {
    const { indexId, keys } = this.#index;
    const plaintext = openObject(keys.namespace, { kind: "namespace", indexId, name: objectName }, bytes);
    const name = checkStored(`stored object ${objectName}`, () => textOf(plaintext.subarray(keyBytes)));
    const secret = secretKey(plaintext.subarray(0, keyBytes));
    const erasures = numberOf(objectName);
    const check = Buffer.from(namespaceCheck(secret, indexId)).toString("hex");
    const id = `${this.#handle(name).toString("hex")}-${erasures}-${check}`;
    if (this.objectNameOf(id) !== objectName || id !== (expected ?? id))
      throw new SealdexError(
        "corrupt",
        `stored object ${objectName}: it is not the secret that its namespace has`,
      );
    const namespace = { id, name, objectName, erasures, keys: keys.dataOf(secret) };
    this.#known.set(id, namespace);
    return namespace;
  }
}

/** Deletes the secrets of namespaces or groups. Throws `storage_unavailable` if one is still there afterwards. */
export async function destroySecrets(
  store: BlobStore,
  owner: "namespace" | "group",
  objectNames: readonly string[],
): Promise<void> {
  if (objectNames.length === 0) return;
  await store.delete(objectNames);
  const left = await Promise.all(objectNames.map((name) => store.read(name, { offset: 0, length: 0 })));
  if (left.every((bytes) => bytes === null)) return;
  throw new SealdexError(
    "storage_unavailable",
    `${owner}: the storage still has its secret after deleting it`,
  );
}
