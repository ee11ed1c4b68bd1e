/** What a blob's key may be; see blob-store.ts. */

import { SealdexError } from "../errors.js";

const keyPattern = /^[a-z0-9]{1,250}(\/[a-z0-9]{1,250})*$/;
const keyCharactersMax = 512;

/** Throws `internal`: callers of a driver make their keys themselves. */
export function checkKey(key: string): void {
  if (key.length > keyCharactersMax || !keyPattern.test(key)) {
    throw new SealdexError(
      "internal",
      `storage key: expected parts of a-z and 0-9 joined by "/", got "${key}"`,
    );
  }
}
