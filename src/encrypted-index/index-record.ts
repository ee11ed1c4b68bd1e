/**
 * The index record: what turns a name and the caller's key into an open index. FORMAT.md §3.
 *
 * In clear: the index's random id, the key-derivation salt and the key check, with a checksum that tells
 * accidental damage from a wrong key. Sealed under the caller's key: the root secret and what the index is.
 */

import { createHash, type KeyObject, randomBytes } from "node:crypto";
import {
  type CallerKeys,
  deriveCallerKeys,
  deriveIndexKeys,
  equalInConstantTime,
  type IndexKeys,
  keyBytes,
  randomSalt,
  saltBytes,
} from "../crypto/keys.js";
import { type ObjectContext, openObject, sealObject } from "../crypto/sealed-object.js";
import type { ModelIdentity } from "../embedding/index-embedder.js";
import type { IndexConfig } from "../engine/config.js";
import { SealdexError } from "../errors.js";

/** What an index is, fixed at its creation; the dimension may be left to the first vector. */
export interface IndexDefinition {
  readonly config: IndexConfig;
  readonly model?: ModelIdentity;
}

/** An index whose key was accepted. */
export interface OpenedRecord {
  readonly indexId: Uint8Array;
  /** The caller's key. */
  readonly indexKey: KeyObject;
  readonly keys: IndexKeys;
  readonly definition: IndexDefinition;
  /** 1 at creation, one more with each rotation of the index key. */
  readonly keyGeneration: number;
}

/** A record as stored: under which name, and of which index. */
export interface StoredRecord {
  readonly indexName: string;
  readonly name: string;
  readonly bytes: Uint8Array;
}

const magic = Buffer.from("SLDXREC\u0001", "latin1");
const idBytes = 16;
const checksumBytes = 32;
const saltAt = magic.length + idBytes;
const keyCheckAt = saltAt + saltBytes;
const sealedAt = keyCheckAt + keyBytes;

/** A new index's record, to be stored under `name`, and the index itself, open. */
export function createRecord(
  indexKey: KeyObject,
  name: string,
  definition: IndexDefinition,
): { bytes: Uint8Array; opened: OpenedRecord } {
  const indexId = randomBytes(idBytes);
  const rootSecret = randomBytes(keyBytes);
  const plaintext = keysetPlaintext(rootSecret, { ...definition, keyGeneration: 1 });
  const bytes = sealRecord(indexKey, indexId, name, plaintext);
  const keys = deriveIndexKeys(rootSecret, indexId);
  return { bytes, opened: { indexId, indexKey, keys, definition, keyGeneration: 1 } };
}

/** Throws `corrupt` if the record is damaged, `wrong_index_key` if the key is another. */
export function openRecord(indexKey: KeyObject, record: StoredRecord): OpenedRecord {
  const { indexId, plaintext } = unsealRecord(indexKey, record);
  const { keyGeneration, ...definition } = keysetOf(plaintext);
  // Zeroes the secret, which is all of the plaintext that must not stay.
  const keys = deriveIndexKeys(plaintext.subarray(0, keyBytes), indexId);
  return { indexId, indexKey, keys, definition, keyGeneration };
}

/** The id of the index that a record belongs to: no key is needed to know it. Throws `corrupt`. */
export function indexIdOf(indexName: string, bytes: Uint8Array): Uint8Array {
  return checkedBody(indexName, bytes).slice(magic.length, saltAt);
}

/** The record of the same index, to be stored under `newName`. Throws as `openRecord`. */
export function renameRecord(indexKey: KeyObject, record: StoredRecord, newName: string): Uint8Array {
  const { indexId, plaintext } = unsealRecord(indexKey, record);
  return sealRecord(indexKey, indexId, newName, plaintext);
}

/** The record of the same index under another key, of the next generation. Throws as `openRecord`. */
export function rekeyRecord(
  indexKey: KeyObject,
  record: StoredRecord,
  newKey: KeyObject,
  newName: string,
): { bytes: Uint8Array; keyGeneration: number } {
  const { indexId, plaintext } = unsealRecord(indexKey, record);
  const keyset = keysetOf(plaintext);
  const keyGeneration = keyset.keyGeneration + 1;
  const rootSecret = plaintext.subarray(0, keyBytes);
  const next = keysetPlaintext(rootSecret, { ...keyset, keyGeneration });
  rootSecret.fill(0);
  return { bytes: sealRecord(newKey, indexId, newName, next), keyGeneration };
}

/** The id of the index whose record this is; not authenticated. Undefined where the record is damaged. */
export function claimedIndexId(bytes: Uint8Array): Uint8Array | undefined {
  return bytes.length < sealedAt ? undefined : bytes.slice(magic.length, saltAt);
}

/** Zeroes the plaintext. */
function sealRecord(
  indexKey: KeyObject,
  indexId: Uint8Array,
  name: string,
  plaintext: Uint8Array,
): Uint8Array {
  const salt = randomSalt();
  const caller = deriveCallerKeys(indexKey, salt, indexId);
  const sealed = sealObject(caller.keyEncryption, keysetContext(indexId, name), plaintext);
  plaintext.fill(0);
  const body = Buffer.concat([magic, indexId, salt, caller.keyCheck, sealed]);
  return Buffer.concat([body, checksum(body)]);
}

/** The sealed part of a record, after the root secret. */
type Keyset = IndexDefinition & { readonly keyGeneration: number };

/** Bytes, not text: only bytes can be zeroed after use. */
function keysetPlaintext(rootSecret: Uint8Array, keyset: Keyset): Uint8Array {
  return Buffer.concat([rootSecret, Buffer.from(JSON.stringify(keyset), "utf8")]);
}

function keysetOf(plaintext: Uint8Array): Keyset {
  return JSON.parse(Buffer.from(plaintext.subarray(keyBytes)).toString("utf8")) as Keyset;
}

function unsealRecord(
  indexKey: KeyObject,
  { indexName, name, bytes }: StoredRecord,
): { indexId: Uint8Array; plaintext: Uint8Array } {
  const body = checkedBody(indexName, bytes);
  const indexId = body.slice(magic.length, saltAt);
  const caller = deriveCallerKeys(indexKey, body.subarray(saltAt, keyCheckAt), indexId);
  checkKey(caller, body.subarray(keyCheckAt, sealedAt), indexName);
  const plaintext = openObject(caller.keyEncryption, keysetContext(indexId, name), body.subarray(sealedAt));
  return { indexId, plaintext };
}

/** All of a record but its checksum. */
function checkedBody(indexName: string, bytes: Uint8Array): Uint8Array {
  const body = bytes.subarray(0, Math.max(0, bytes.length - checksumBytes));
  if (
    bytes.length < sealedAt + checksumBytes ||
    !equalInConstantTime(checksum(body), bytes.subarray(body.length))
  ) {
    throw new SealdexError("corrupt", `index "${indexName}": its record is damaged`);
  }
  if (!equalInConstantTime(body.subarray(0, magic.length), magic)) {
    throw new SealdexError("corrupt", `index "${indexName}": its record is of an unknown format`);
  }
  return body;
}

function checkKey(caller: CallerKeys, keyCheck: Uint8Array, indexName: string): void {
  if (!equalInConstantTime(caller.keyCheck, keyCheck)) {
    throw new SealdexError("wrong_index_key", `index "${indexName}": this is not its index key`);
  }
}

function keysetContext(indexId: Uint8Array, name: string): ObjectContext {
  return { kind: "keyset", indexId, name };
}

function checksum(body: Uint8Array): Uint8Array {
  return createHash("sha256").update(body).digest();
}
