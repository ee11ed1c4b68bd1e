/**
 * The index record, by which a name and a key open an index. docs/internals/format.md §3.
 *
 * In clear: the index's random id, the key-derivation salt and, for each wrap, its key check, with a checksum that distinguishes
 * accidental damage from a wrong key. Sealed under the key of each wrap: its keyset.
 */

import { createHash, randomBytes } from "node:crypto";
import {
  equalInConstantTime,
  keyBytes,
  randomSalt,
  saltBytes,
  secretKey,
  type WrapKeys,
} from "../../crypto/keys.js";
import { checkObjectLength } from "../../state/commit/read-object.js";
import {
  formatVersion,
  type ObjectContext,
  onlyKey,
  openObject,
  sealObject,
} from "../../crypto/sealed-object.js";
import { SealdexError } from "../../errors.js";
import type { KeySource } from "../../keys/key-provider.js";
import { KeyRing } from "../../keys/key-ring.js";
import {
  currentGeneration,
  decodeKeyset,
  encodeKeyset,
  isOwners,
  type Keyset,
  keysetFor,
  newSharedKeys,
  type OwnerKeyset,
  type SharedKeys,
} from "../../keys/keyset.js";
import { type IndexDefinition, storedDefinition } from "./stored-definition.js";
import {
  entryOf,
  newWrap,
  openWrap,
  providerTag,
  providerTagBytes,
  type WrapEntry,
  type WrapScope,
  wrapsMax,
} from "../../keys/wrap.js";

/** An index whose key was accepted. */
export interface OpenedRecord extends WrapScope {
  /** Of the wrap by which it was opened: they open every later record that still has the wrap. */
  readonly wrapKeys: WrapKeys;
  readonly keys: KeyRing;
  readonly definition: IndexDefinition;
}

/** A record as stored: under which name, and of which index. */
export interface StoredRecord {
  readonly indexName: string;
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** A record whose clear part was read. */
export interface ListedRecord extends StoredRecord {
  readonly indexId: Uint8Array;
  /** The generation of keys that it brings along. Not authenticated before the record is opened. */
  readonly generation: number;
  /** Whether it says from which version on these count: then it is in force. Not authenticated before, either. */
  readonly isSettled: boolean;
}

export type IndexKeyset = Keyset<IndexDefinition>;

/** The name of the first wrap, which every index has. */
export const ownerName = "owner";

const magic = Buffer.concat([Buffer.from("SLDXREC", "latin1"), Uint8Array.of(formatVersion)]);
const versionAt = magic.length - 1;
const idBytes = 16;
const checksumBytes = 32;
const lengthBytes = 4;
const saltAt = magic.length + idBytes;
const generationAt = saltAt + saltBytes;
const settledAt = generationAt + lengthBytes;
const countAt = settledAt + lengthBytes;
const entriesAt = countAt + lengthBytes;

/** A new index's record, to be stored under `name`, and the index itself, open. Throws errors of the key provider. */
export async function createRecord(
  source: KeySource,
  name: string,
  definition: IndexDefinition,
): Promise<{ bytes: Uint8Array; opened: OpenedRecord }> {
  const scope = { indexId: randomBytes(idBytes), salt: randomSalt() };
  const wrap = await newWrap(source, scope);
  const owner = { name: ownerName, access: "owner", ...wrap } as const;
  const keyset = {
    name: ownerName,
    access: "owner",
    ...newSharedKeys(),
    members: [owner],
    definition,
  } as const;
  const bytes = sealRecord(keyset, scope, name);
  const wrapKeys = { keyCheck: owner.keyCheck, keyEncryption: secretKey(owner.keyEncryption) };
  return { bytes, opened: { ...scope, wrapKeys, keys: new KeyRing(scope.indexId, keyset), definition } };
}

/**
 * Throws `corrupt` if the record is damaged, `wrong_index_key` if the key is of no wrap, errors of the key provider, and the reason of the
 * signal, which ends the search for the provider's wrap.
 */
export async function openRecord(
  source: KeySource,
  record: StoredRecord,
  signal?: AbortSignal,
): Promise<OpenedRecord> {
  const wrapKeys = await wrapKeysOf(source, record, signal);
  return useKeyset(wrapKeys, record, (keyset, scope) => ({
    ...scope,
    wrapKeys,
    keys: new KeyRing(scope.indexId, keyset),
    definition: keyset.definition,
  }));
}

/** The keys of the wrap that `source` opens. Throws as `openRecord`. */
export async function wrapKeysOf(
  source: KeySource,
  record: StoredRecord,
  signal?: AbortSignal,
): Promise<WrapKeys> {
  const { scope, entries } = parseRecord(record);
  const keys = await openWrap(source, scope, entries, signal);
  if (keys === undefined) throw wrongKey(record, source);
  return keys;
}

/**
 * Runs `work` on the keyset of a wrap and zeroes the keyset afterwards. Throws `wrong_index_key` if the record does not have
 * the wrap, `corrupt` if it is damaged.
 */
export function useKeyset<T>(
  wrapKeys: WrapKeys,
  record: StoredRecord,
  work: (keyset: IndexKeyset, scope: WrapScope) => T,
): T {
  const { scope, entries } = parseRecord(record);
  const entry = entryOf(wrapKeys, entries);
  if (entry === undefined) throw wrongKey(record);
  const context = keysetContext(scope.indexId, record.name);
  const plaintext = openObject(onlyKey(wrapKeys.keyEncryption), context, entry.sealed);
  try {
    const keyset = decodeKeyset(plaintext, `index "${record.indexName}": its keyset`, storedDefinition);
    const { generation, isSettled } = listed(record);
    if (currentGeneration(keyset) !== generation || isSettledIn(keyset) !== isSettled)
      throw damaged(record.indexName);
    return work(keyset, scope);
  } finally {
    plaintext.fill(0);
  }
}

/** Throws `forbidden` unless the keyset is the owner's. */
export function checkOwners(keyset: IndexKeyset, indexName: string): OwnerKeyset<IndexDefinition> {
  if (isOwners(keyset)) return keyset;
  throw new SealdexError(
    "forbidden",
    `index "${indexName}": expected the owner's key, this one has ${keyset.access} access`,
  );
}

/** The id of the index that a record belongs to: no key is needed to know it. Throws `corrupt`. */
export function indexIdOf(indexName: string, bytes: Uint8Array): Uint8Array {
  return checkedBody(indexName, bytes).slice(magic.length, saltAt);
}

/** The public part of a record, which needs no key. Throws `corrupt`. */
export function listed(record: StoredRecord): ListedRecord {
  const body = checkedBody(record.indexName, record.bytes);
  return {
    ...record,
    indexId: body.slice(magic.length, saltAt),
    generation: readUint32(body.subarray(generationAt)),
    isSettled: readUint32(body.subarray(settledAt)) === 1,
  };
}

/** The id of the index whose record this is; not authenticated. Undefined if the record is damaged. */
export function claimedIndexId(bytes: Uint8Array): Uint8Array | undefined {
  return bytes.length < entriesAt ? undefined : bytes.slice(magic.length, saltAt);
}

/** The record that gives every member of the owner's keyset its own, to be stored under `name`. */
export function sealRecord(owner: OwnerKeyset<IndexDefinition>, scope: WrapScope, name: string): Uint8Array {
  const { indexId, salt } = scope;
  const entries = owner.members.flatMap((member) => {
    const plaintext = encodeKeyset(keysetFor(owner, member));
    const parent = onlyKey(secretKey(Uint8Array.from(member.keyEncryption)));
    const sealed = sealObject(parent, keysetContext(indexId, name), plaintext);
    plaintext.fill(0);
    const { keyCheck, provider } = member;
    const tag = provider === undefined ? new Uint8Array(providerTagBytes) : providerTag(provider, scope);
    const wrapped = provider?.wrapped ?? new Uint8Array(0);
    return [keyCheck, tag, uint32(wrapped.length), wrapped, uint32(sealed.length), sealed];
  });
  const numbers = [currentGeneration(owner), Number(isSettledIn(owner)), owner.members.length].map(uint32);
  const body = Buffer.concat([magic, indexId, salt, ...numbers, ...entries]);
  return checkObjectLength("record", "index record", Buffer.concat([body, checksum(body)]));
}

function parseRecord({ indexName, bytes }: StoredRecord): { scope: WrapScope; entries: WrapEntry[] } {
  const body = checkedBody(indexName, bytes);
  const scope = { indexId: body.slice(magic.length, saltAt), salt: body.slice(saltAt, generationAt) };
  let at = entriesAt;
  const take = (length: number) => {
    if (length > body.length - at) throw damaged(indexName);
    at += length;
    return body.subarray(at - length, at);
  };
  const entries: WrapEntry[] = [];
  const count = readUint32(body.subarray(countAt));
  if (count > wrapsMax) throw damaged(indexName);
  for (let left = count; left > 0; left--) {
    entries.push({
      keyCheck: take(keyBytes),
      providerTag: take(providerTagBytes),
      wrapped: take(readUint32(take(lengthBytes))),
      sealed: take(readUint32(take(lengthBytes))),
    });
  }
  if (at !== body.length) throw damaged(indexName);
  return { scope, entries };
}

/** All of a record but its checksum. */
function checkedBody(indexName: string, bytes: Uint8Array): Uint8Array {
  const body = bytes.subarray(0, Math.max(0, bytes.length - checksumBytes));
  if (
    bytes.length < entriesAt + checksumBytes ||
    !equalInConstantTime(checksum(body), bytes.subarray(body.length))
  ) {
    throw damaged(indexName);
  }
  if (!equalInConstantTime(body.subarray(0, versionAt), magic.subarray(0, versionAt)))
    throw damaged(indexName);
  if (body[versionAt] !== formatVersion) throw otherFormat(indexName, body[versionAt]);
  return body;
}

function damaged(indexName: string): SealdexError {
  return new SealdexError("corrupt", `index "${indexName}": its record is damaged`);
}

function otherFormat(indexName: string, version: number): SealdexError {
  const advice =
    version > formatVersion
      ? "update sealdex"
      : "export its items with the release that wrote it, and import them into a new index";
  return new SealdexError(
    "not_supported",
    `index "${indexName}": it is stored in format ${version}, this release reads format ${formatVersion}: ${advice}`,
  );
}

function wrongKey({ indexName }: StoredRecord, source?: KeySource): SealdexError {
  const advice =
    source !== undefined && "wrap" in source
      ? `this key provider (${source.name}) does not open the index: it wrapped no key of it, or its wrap was revoked. ` +
        "An index that was created with a key itself, as by --key-file or index_key, needs that key instead of a provider"
      : "this key does not open the index (a wrong or revoked key). A program that calls generateKey() each time it runs " +
        'has a new key each time: keep the key, or use fileKey("./notes.key", { create: true }). An index that was ' +
        "created by such a provider needs the provider instead of the key in its file";
  return new SealdexError("wrong_index_key", `index "${indexName}": ${advice}`);
}

/** Whether it is known from which version on the generation in force counts. */
function isSettledIn({ generations }: SharedKeys): boolean {
  return generations[generations.length - 1].since !== undefined;
}

function keysetContext(indexId: Uint8Array, name: string): ObjectContext {
  return { kind: "keyset", indexId, name };
}

function checksum(body: Uint8Array): Uint8Array {
  return createHash("sha256").update(body).digest();
}

function uint32(value: number): Uint8Array {
  const bytes = Buffer.alloc(lengthBytes);
  bytes.writeUInt32LE(value);
  return bytes;
}

function readUint32(bytes: Uint8Array): number {
  return Buffer.from(bytes.buffer, bytes.byteOffset, lengthBytes).readUInt32LE();
}
