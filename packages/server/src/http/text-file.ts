/** Files that are read when the service starts: settings, certificates, a passphrase. */

import { closeSync, openSync, readSync } from "node:fs";
import { SealdexError } from "sealdex/core";

/** Longer than any settings or certificate bundle. */
const bytesMax = 4 * 1024 * 1024;

/** Reads UTF-8. Throws `invalid_request` for an unreadable or longer file. */
export function readTextFile(path: string): string {
  const bytes = Buffer.alloc(bytesMax + 1);
  let length = 0;
  try {
    const file = openSync(path, "r");
    try {
      for (let read = -1; read !== 0 && length <= bytesMax; length += read) {
        read = readSync(file, bytes, length, bytes.length - length, null);
      }
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    throw new SealdexError("invalid_request", `${path}: the file cannot be read (${code})`, { cause });
  }
  if (length <= bytesMax) return bytes.toString("utf8", 0, length);
  throw new SealdexError("invalid_request", `${path}: expected a file of at most ${bytesMax} bytes`);
}
