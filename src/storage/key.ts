/**
 * The syntax of keys, as described in blob-store.ts. Every driver checks its keys, so that none can
 * name anything outside its location. Sealdex makes all keys, so a bad one is an internal error.
 */

import { SealdexError } from "../errors.js";

const keyPattern = /^[a-z0-9]{1,250}(?:\/[a-z0-9]{1,250})*$/;
const prefixPattern = /^(?:[a-z0-9]{1,250}\/)*[a-z0-9]{0,250}$/;
const keyCharactersMax = 512;

/** Throws `internal`. */
export function checkKey(key: string): void {
  if (!isKey(key)) throw malformed("key", key);
}

/** Whether a listed name can be a key. */
export function isKey(name: string): boolean {
  return name.length <= keyCharactersMax && keyPattern.test(name);
}

/** Throws `internal` unless `prefix` is empty or some key could begin with it. */
export function checkPrefix(prefix: string): void {
  if (prefix.length > keyCharactersMax || !prefixPattern.test(prefix)) throw malformed("prefix", prefix);
}

function malformed(what: string, value: string): SealdexError {
  const shown = JSON.stringify(value.slice(0, 80));
  return new SealdexError(
    "internal",
    `storage ${what}: expected parts of a-z and 0-9 joined by "/", at most ${keyCharactersMax} characters, got ${shown} of ${value.length}`,
  );
}
