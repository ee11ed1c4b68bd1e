/** The command line: `sealdex-server serve` and `sealdex-server generate-key`. */

import { readFileSync } from "node:fs";
import { Command } from "commander";
import { checkLocations, createClient, generateKey, SealdexError } from "sealdex/core";
import { createApp } from "./app.js";
import { readSettings } from "./settings.js";

const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
const { version } = JSON.parse(manifest) as { version: string };

const program = new Command("sealdex-server")
  .description("The Sealdex encrypted vector index as an HTTP service.")
  .version(version);

program
  .command("serve")
  .description("Start the service. Settings come from SEALDEX_* environment variables; see the README.")
  .action(serve);

program
  .command("generate-key")
  .description("Print a new random key, fit for an index and for the API: 64 hexadecimal characters.")
  .action(() => {
    process.stdout.write(`${generateKey()}\n`);
  });

try {
  await program.parseAsync();
} catch (error) {
  // Failures of the operator's making get one line; anything else is a fault of ours and shows its stack.
  const isExpected = error instanceof SealdexError || (error instanceof Error && "syscall" in error);
  if (!isExpected) throw error;
  program.error(`error: ${error.message}`);
}

async function serve(): Promise<void> {
  const { host, port, apiKeys, ...clientOptions } = readSettings(process.env);
  const client = createClient(clientOptions);
  // A location that cannot hold indexes is found out now, not by the first request.
  await checkLocations(client);
  const app = await createApp({ client, apiKeys, version, log: process.stdout });
  const signals = ["SIGINT", "SIGTERM"] as const;
  const stop = async (signal: NodeJS.Signals) => {
    // A second signal ends the process at once.
    for (const name of signals) process.removeAllListeners(name);
    app.log.info(`${signal}: stopping once the requests under way are answered`);
    try {
      await app.close();
      await client.close();
      app.log.info("stopped");
    } catch {
      app.log.error("stopping failed");
      process.exitCode = 1;
    }
  };
  for (const signal of signals) process.once(signal, (name) => void stop(name));
  if (!isLoopback(host)) {
    app.log.warn(
      "API keys and index keys travel unencrypted to this address: put a proxy with TLS before it",
    );
  }
  await app.listen({ host, port });
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}
