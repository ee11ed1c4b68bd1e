/** The command line of `sealdex-server`. */

import cluster from "node:cluster";
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { generateKey, SealdexError } from "sealdex/core";
import { addAuditCommand } from "./commands/audit.js";
import { addHealthCommand } from "./commands/health.js";
import { addIndexCommand } from "./commands/index.js";
import { addIngestCommand } from "./commands/ingest.js";
import { addKeysCommand } from "./commands/keys.js";
import { addTransferCommands } from "./commands/transfer.js";
import { addWorkCommands } from "./commands/work.js";
import { addWrapsCommand } from "./commands/wraps.js";
import { supervise } from "./processes/supervise.js";
import { loadSettings } from "./settings/load-settings.js";
import { textOf } from "./settings/log-output.js";
import { requireKeys } from "./settings/settings.js";
import { settingsHelp } from "./settings/settings-help.js";

const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
const { version } = JSON.parse(manifest) as { version: string };

const program = new Command("sealdex-server")
  .description("The Sealdex encrypted vector index as an HTTP service.")
  .version(version)
  .option("--config <file>", "a YAML file with settings (default: SEALDEX_CONFIG)")
  .configureHelp({ showGlobalOptions: true });

const settings = () => loadSettings(process.env, program.opts<{ config?: string }>().config);

program
  .command("serve")
  .description("Start the service. Settings come from SEALDEX_* environment variables and a file.")
  .addHelpText("after", () => `\n${settingsHelp()}`)
  .action(async () => {
    const given = settings();
    requireKeys(given);
    if (given.processes > 1 && cluster.isPrimary) {
      const { stdout } = process;
      return supervise(given.processes, (line) => void stdout.write(stdout.isTTY ? textOf(line) : line));
    }
    // The other commands, and a process that supervises others, start in half the time without these modules.
    return (await import("./commands/serve.js")).serve(given, version);
  });

program
  .command("generate-key")
  .description(
    "Print a new random key, fit for an index and for SEALDEX_ROOT_KEY: 64 hexadecimal characters.",
  )
  .action(() => {
    process.stdout.write(`${generateKey()}\n`);
  });

addKeysCommand(program, settings);
addAuditCommand(program, settings);
addHealthCommand(program, settings);
addIndexCommand(program, settings);
addWrapsCommand(program, settings);
addTransferCommands(program, settings);
addIngestCommand(program, settings);
addWorkCommands(program, settings);

try {
  await program.parseAsync();
} catch (error) {
  // Failures caused by the operator print one line; anything else is a bug and shows its stack.
  const isExpected =
    error instanceof SealdexError || (typeof error === "object" && error !== null && "syscall" in error);
  if (!isExpected) throw error;
  program.error(`error: ${(error as Error).message}`);
}
