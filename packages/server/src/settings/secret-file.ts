/** Tokens in files, read at each use, since an agent or orchestrator renews them. */

import { createReadStream } from "node:fs";
import { SealdexError } from "sealdex/core";

/** Limit of a token or a service account's key file. */
const bytesMax = 64 * 1024;

/** Without trailing line breaks. `where` names the setting. Throws `storage_unavailable`. */
export async function readSecret(path: string, where: string): Promise<string> {
  let text = "";
  try {
    // Reads the beginning of a longer file, which is no valid secret either.
    for await (const chunk of createReadStream(path, { encoding: "utf8", end: bytesMax })) text += chunk;
  } catch (cause) {
    throw new SealdexError("storage_unavailable", `${where}: the file cannot be read`, { cause });
  }
  return text.replace(/[\r\n]+$/, "");
}
