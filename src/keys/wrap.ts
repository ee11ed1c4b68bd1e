/** Wraps: a holder's key gives the keys that open the holder's keyset. */

import { createHash, type KeyObject, randomBytes } from "node:crypto";
import { deriveWrapKeys, equalInConstantTime, keyBytes, secretKey, type WrapKeys } from "../crypto/keys.js";
import { SealdexError } from "../errors.js";
import type { KeyContext, KeyProvider, KeySource } from "./key-provider.js";
import type { Member } from "./keyset.js";
import { isBytes } from "../checks/value-kinds.js";

/** The clear part of a wrap in a record. */
export interface WrapEntry {
  /** 32 bytes. */
  readonly keyCheck: Uint8Array;
  /** 32 bytes that identify the key provider; zeros without one. */
  readonly providerTag: Uint8Array;
  /** The wrap's key as the provider wrapped it. */
  readonly wrapped: Uint8Array;
  /** The keyset, a sealed object. */
  readonly sealed: Uint8Array;
}

/** The index of the wraps. */
export interface WrapScope {
  readonly indexId: Uint8Array;
  /** 32 bytes, the same for the life of the index. */
  readonly salt: Uint8Array;
}

export const providerTagBytes = 32;
/** Bounds the requests to a key provider. */
export const wrapsMax = 256;

/** Creates a wrap: its keys, and the owner's record of it. */
export async function newWrap(
  source: KeySource,
  scope: WrapScope,
): Promise<Pick<Member, "keyCheck" | "keyEncryption" | "provider">> {
  if (!("wrap" in source)) return memberKeys(derive(source, scope));
  const key = randomBytes(keyBytes);
  const copy = Uint8Array.from(key);
  const wrapped = await source.wrap(copy, contextOf(scope));
  if (!isBytes(wrapped)) {
    throw new SealdexError("invalid_request", `key provider ${source.name}: expected wrap to return bytes`);
  }
  const provider = { name: source.name, wrapped: Uint8Array.from(wrapped) };
  copy.fill(0);
  return { ...memberKeys(derive(secretKey(key), scope)), provider };
}

/**
 * Returns the keys of the wrap that `source` opens; undefined if there is none. Throws the key
 * provider's errors and the signal's reason. Entries are not authenticated until one of them opens.
 */
export async function openWrap(
  source: KeySource,
  scope: WrapScope,
  entries: readonly WrapEntry[],
  signal?: AbortSignal,
): Promise<WrapKeys | undefined> {
  if (!("wrap" in source)) {
    const keys = derive(source, scope);
    return entryOf(keys, entries) && keys;
  }
  const tag = providerTag(source, scope);
  // One object for all entries: see `KeyContext`.
  const context = contextOf(scope);
  let failure: unknown;
  for (const { providerTag: tagged, wrapped } of entries) {
    if (!equalInConstantTime(tagged, tag)) continue;
    signal?.throwIfAborted();
    try {
      const key = await source.unwrap(Uint8Array.from(wrapped), context);
      if (!isBytes(key) || key.length !== keyBytes) continue;
      const keys = derive(secretKey(key), scope);
      if (entryOf(keys, entries)) return keys;
    } catch (error) {
      // Another wrap of the same provider may be the caller's.
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return undefined;
}

/** Finds the entry of these keys. */
export function entryOf({ keyCheck }: WrapKeys, entries: readonly WrapEntry[]): WrapEntry | undefined {
  return entries.find((entry) => equalInConstantTime(entry.keyCheck, keyCheck));
}

/**
 * A digest, so that storage does not learn which services hold keys, unless it guesses their names.
 */
export function providerTag({ name }: Pick<KeyProvider, "name">, { indexId }: WrapScope): Uint8Array {
  return createHash("sha256").update("sealdex/1/provider\0").update(indexId).update(name, "utf8").digest();
}

function derive(key: KeyObject, { salt, indexId }: WrapScope): WrapKeys {
  return deriveWrapKeys(key, salt, indexId);
}

function memberKeys({ keyCheck, keyEncryption }: WrapKeys) {
  return { keyCheck, keyEncryption: Uint8Array.from(keyEncryption.export()) };
}

function contextOf({ indexId, salt }: WrapScope): KeyContext {
  return { indexId: Buffer.from(indexId).toString("hex"), salt: Buffer.from(salt).toString("hex") };
}
