/** `sealdex-server wraps`: the keys that open an index. */

import { type Command, Option } from "commander";
import { asciiJson } from "../settings/log-output.js";
import type { ReadSettings } from "../settings/settings.js";
import { parseExpiry } from "./expiry.js";
import { type KeyArguments, newKeyIn, useIndex, withKeyFile } from "./open-index.js";

interface AddArguments extends KeyArguments {
  readonly wrapKeyFile: string;
  readonly access: "read-only" | "read-write";
  readonly expires?: string;
}

export function addWrapsCommand(program: Command, read: ReadSettings): void {
  const group = program
    .command("wraps")
    .description(
      "List, add and revoke keys of an index. Needs its owner's key and the locations of the service.",
    );
  const add = (name: string, description: string) =>
    withKeyFile(group.command(name).description(description));

  add("list <index>", "List the keys that open an index, one JSON object per line.").action(
    (name: string, options: KeyArguments) =>
      useIndex(read, name, options, async (index) => {
        for (const wrap of await index.wraps.list())
          process.stdout.write(`${asciiJson(JSON.stringify(wrap))}\n`);
      }),
  );

  add("add <index> <name>", "Add a key for a holder, who then opens the index with it.")
    .requiredOption(
      "--wrap-key-file <path>",
      "a file with the holder's key; made with a random key if absent",
    )
    .addOption(
      new Option("--access <access>", "what it permits")
        .choices(["read-only", "read-write"])
        .default("read-only"),
    )
    .option("--expires <when>", "a duration (12h, 90d) or a date (2027-12-31)")
    .action((indexName: string, name: string, { wrapKeyFile, access, expires, ...options }: AddArguments) =>
      useIndex(read, indexName, options, async (index) => {
        const expiresAt = expires === undefined ? undefined : new Date(parseExpiry(expires, Date.now()));
        const key = await newKeyIn(wrapKeyFile, "--wrap-key-file");
        await index.wraps.add({ name, key, access, expiresAt });
        process.stdout.write(`${name} opens ${indexName} (${access}) with the key in ${wrapKeyFile}.\n`);
      }),
    );

  add("revoke <index> <name>", "Revoke the key of a holder.")
    .alias("remove")
    .action((indexName: string, name: string, options: KeyArguments) =>
      useIndex(read, indexName, options, async (index) => {
        await index.wraps.revoke(name);
        process.stdout.write(`${name} no longer opens ${indexName}.\n`);
      }),
    );
}
