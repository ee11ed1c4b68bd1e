/** Tokens in files, read with each use: an agent or an orchestrator renews them. */

import { createReadStream } from "node:fs";
import { SealdexError } from "sealdex/core";

/** Of a token, or the key file of a service account. */
const bytesMax = 64 * 1024;

/** Without line breaks at its end. `where`: which setting names the file. Throws `storage_unavailable`. */
export async function readSecret(path: string, where: string): Promise<string> {
  let text = "";
  try {
    // Of a longer file, a part: that is no secret either.
    for await (const chunk of createReadStream(path, { encoding: "utf8", end: bytesMax })) text += chunk;
  } catch (cause) {
    throw new SealdexError("storage_unavailable", `${where}: the file cannot be read`, { cause });
  }
  return text.replace(/[\r\n]+$/, "");
}
