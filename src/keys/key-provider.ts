/** Key providers: services and secrets that keep the keys of wraps for their holders. */

import type { KeyObject } from "node:crypto";
import { parseIndexKey } from "../crypto/keys.js";
import { SealdexError } from "../errors.js";
import { isBytes } from "../checks/value-kinds.js";

/**
 * The index that a key is wrapped for. Providers that can bind the wrapped key to it should. A call
 * that tries several wraps passes the same object each time, so slow work, for example stretching a
 * passphrase, can be cached by it.
 */
export interface KeyContext {
  /** Identity of the index, 32 hexadecimal characters. Copies and renamed indexes keep it. */
  readonly indexId: string;
  /** 32 random bytes of the index as 64 hexadecimal characters. Not secret, never changes. */
  readonly salt: string;
}

/**
 * Wraps and unwraps the 32-byte key of an index: a key management service, a passphrase, a file.
 * `unwrap` throws `wrong_index_key` if another provider wrapped the key, and `storage_unavailable`
 * if the service does not respond.
 */
export interface KeyProvider {
  /**
   * Identifies the wrapping key, for example the address of a service and the name of its key.
   * Opening an index looks up wraps by this name. Stored sealed, and as a digest. Not secret.
   */
  readonly name: string;
  /** The caller zeroes `key` after the call. */
  wrap(key: Uint8Array, context: KeyContext): Promise<Uint8Array>;
  unwrap(wrapped: Uint8Array, context: KeyContext): Promise<Uint8Array>;
}

export type KeySource = KeyObject | KeyProvider;

/**
 * Checks the caller's key or key provider. Throws `invalid_request`; the message never repeats the
 * key.
 */
export function parseKeySource(input: unknown): KeySource {
  return isKeyProvider(input) ? input : parseIndexKey(input);
}

export function isKeyProvider(input: unknown): input is KeyProvider {
  if (typeof input !== "object" || input === null || isBytes(input)) return false;
  const { name, wrap, unwrap } = input as Partial<Record<keyof KeyProvider, unknown>>;
  return typeof name === "string" && typeof wrap === "function" && typeof unwrap === "function";
}

type RefusalCode = "wrong_index_key" | "forbidden" | "not_found";

const meanings: ReadonlyMap<RefusalCode, string> = new Map([
  ["wrong_index_key", "another key wrapped this key"],
  ["forbidden", "the credentials may not use the key"],
  ["not_found", "no such key"],
]);

/** The error for a request that a key management service rejected. */
export function refusal(service: string, code: RefusalCode, cause?: unknown): SealdexError {
  return new SealdexError(code, `${service}: ${meanings.get(code)}`, { cause });
}
