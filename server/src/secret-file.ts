/** Tokens in files, read with each use: an agent or an orchestrator renews them. */

import { readFile } from "node:fs/promises";
import { SealdexError } from "sealdex/core";

/** Without line breaks at its end. `where`: which setting names the file. Throws `storage_unavailable`. */
export async function readSecret(path: string, where: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new SealdexError("storage_unavailable", `${where}: the file cannot be read`, { cause });
  });
  return text.replace(/[\r\n]+$/, "");
}
