/** Key providers: services and secrets that keep the keys of wraps for their holders. */

import type { KeyObject } from "node:crypto";
import { parseIndexKey } from "../crypto/keys.js";
import { SealdexError } from "../errors.js";
import { isBytes } from "../value-kinds.js";

/**
 * What a key is wrapped for. Providers that can bind the wrapped key to its index should. A call that tries several wraps of an index gives
 * the same object each time: what takes long, such as stretching a passphrase, has to be done once per object.
 */
export interface KeyContext {
  /** The index's identity, 32 hexadecimal characters. It stays the same when the index is copied or renamed. */
  readonly indexId: string;
  /** 32 random bytes of the index, 64 hexadecimal characters, not secret. They never change. */
  readonly salt: string;
}

/**
 * Wraps the 32-byte key of an index, so that it can be stored, and unwraps it: a key management service, a passphrase, a file.
 * `unwrap` throws `wrong_index_key` if the key was wrapped by another, `storage_unavailable` if the service does not respond.
 */
export interface KeyProvider {
  /**
   * Says which key wraps, such as the address of a service and the name of its key; an index that was wrapped is found by the
   * same name. Stored sealed, and as a digest. Not secret.
   */
  readonly name: string;
  /** `key` is zeroed once the call has resolved. */
  wrap(key: Uint8Array, context: KeyContext): Promise<Uint8Array>;
  unwrap(wrapped: Uint8Array, context: KeyContext): Promise<Uint8Array>;
}

/** Where the key of a wrap comes from. */
export type KeySource = KeyObject | KeyProvider;

/** The caller's key, or what provides it. Throws `invalid_request`; the message never repeats the key. */
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
  ["wrong_index_key", "the key was wrapped by another"],
  ["forbidden", "its credentials do not permit to use the key"],
  ["not_found", "there is no such key"],
]);

/** The error for a request that a key management service refused. */
export function refusal(service: string, code: RefusalCode, cause?: unknown): SealdexError {
  return new SealdexError(code, `${service}: ${meanings.get(code)}`, { cause });
}
