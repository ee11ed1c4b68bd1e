/** Opening what was read of an object. */

import { SealdexError } from "../errors.js";
import { yieldIfDue } from "../threads/yield-to-event-loop.js";
import type { CachedValue } from "./cache-group.js";

/** What `open` returns. Where it throws `corrupt`, the message begins with the name of the object. */
export function namingObject<T>(name: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof SealdexError) || error.code !== "corrupt") throw error;
    throw new SealdexError("corrupt", `stored object ${name}: ${error.message}`, { cause: error });
  }
}

/** Reads blocks of an object that are missing from the cache, and opens what was read of each. */
export function opening<T extends CachedValue, B, P>(
  name: string,
  read: (missing: readonly B[]) => Promise<readonly P[]>,
  open: (block: B, plaintext: P) => T,
): (missing: readonly B[]) => Promise<T[]> {
  return async (missing) => {
    const plaintexts = await read(missing);
    const opened: T[] = [];
    try {
      for (const [i, plaintext] of plaintexts.entries()) {
        opened.push(namingObject(name, () => open(missing[i], plaintext)));
        await yieldIfDue();
      }
      return opened;
    } catch (error) {
      for (const value of opened) value.free?.();
      throw error;
    }
  };
}
