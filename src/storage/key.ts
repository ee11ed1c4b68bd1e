/**
 * What a key may be; blob-store.ts says it in words. Every driver checks the keys it is given, so that none
 * can name anything outside its location. Keys are made by Sealdex: a bad one is a fault of its own.
 */

import { SealdexError } from "../errors.js";

const keyPattern = /^[a-z0-9]{1,250}(?:\/[a-z0-9]{1,250})*$/;
const prefixPattern = /^(?:[a-z0-9]{1,250}\/)*[a-z0-9]{0,250}$/;
const keyCharactersMax = 512;

/** Throws `internal`. */
export function checkKey(key: string): void {
  if (!isKey(key)) throw malformed("key", key);
}

/** Whether a name that a service lists can be one of Sealdex. */
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
