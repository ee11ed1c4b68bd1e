/** `sealdex-server audit verify`. */

import type { Command } from "commander";
import { openLocation } from "sealdex/core";
import { invalid } from "sealdex/wire";
import { verifyLogs } from "../audit/read-log.js";
import type { ReadSettings } from "../settings/settings.js";

export function addAuditCommand(program: Command, read: ReadSettings): void {
  program
    .command("audit")
    .description("Check the audit log.")
    .command("verify [folder]")
    .description(
      "Check every file of the audit log. Needs SEALDEX_ROOT_KEY and the locations of the service.",
    )
    .action((folder: string | undefined) => verify(folder, read));
}

/**
 * Prints a line per file, or one per fault. Exits with 1 if any file was changed, shortened or
 * removed.
 */
async function verify(given: string | undefined, read: ReadSettings): Promise<void> {
  const { rootKey, configLocation, indexLocation, auditFolder } = read();
  const folder = given ?? auditFolder;
  if (folder === undefined) throw invalid("audit verify: expected a folder, or SEALDEX_AUDIT_FOLDER");
  if (rootKey === undefined) throw invalid("SEALDEX_ROOT_KEY: expected the root key of the service");
  const store = openLocation(configLocation ?? indexLocation);
  try {
    for (const { file, lines, faults } of await verifyLogs({ folder, rootKey, store })) {
      const found = faults.length > 0 ? faults : [`${lines} lines, complete`];
      process.stdout.write(found.map((what) => `${file}: ${what}\n`).join(""));
      if (faults.length > 0) process.exitCode = 1;
    }
  } finally {
    await store.close();
  }
}
