/** `sealdex-server index`: creates, lists, describes, trains, splits, copies and deletes indexes, and changes their keys. */

import type { Command } from "commander";
import { copyIndex, type EmbeddedClient } from "sealdex/core";
import { invalid } from "sealdex/wire";
import { asciiJson } from "../settings/log-output.js";
import { readLocation } from "../settings/location.js";
import type { ReadSettings, Settings } from "../settings/settings.js";
import { createIndex, type DefinitionArguments, withDefinition } from "./new-index.js";
import {
  clientOptions,
  type KeyArguments,
  newKeyIn,
  openWithKey,
  useClient,
  useIndex,
  withKeyFile,
} from "./open-index.js";
import { withBar } from "./progress-bar.js";

interface CopyArguments extends KeyArguments {
  readonly to?: string;
  readonly newName?: string;
}

export function addIndexCommand(program: Command, read: ReadSettings): void {
  const group = program
    .command("index")
    .description(
      "Create, list, describe, train, split, copy and delete indexes. Needs the locations of the service.",
    );
  const add = (name: string, description: string) =>
    withKeyFile(group.command(name).description(description));

  withDefinition(
    add("create <name>", "Create an index. A key file that does not exist gets a new key."),
  ).action((name: string, options: DefinitionArguments) =>
    useClient(read, async (client, settings) => {
      await createIndex(settings, client, name, options);
      print(`Created ${name}.`);
    }),
  );

  group
    .command("list")
    .description("List the names of all indexes, one per line.")
    .action(() =>
      useClient(read, async (client) => {
        for (const name of await client.listIndexes()) print(name);
      }),
    );

  add("describe <name>", "Print the type, size and state of an index as JSON.").action(
    (name: string, options: KeyArguments) =>
      useIndex(read, name, options, async (index) => {
        const { memory: _ofThisProcess, ...description } = await index.describe();
        print(asciiJson(JSON.stringify({ ...description, items: await index.count() }, undefined, 2)));
      }),
  );

  add("train <name>", "Cluster the items of an index into lists.")
    .option("--lists <number>", "number of lists (default: by the number of items)")
    .action((name: string, { lists, ...options }: KeyArguments & { readonly lists?: string }) =>
      useIndex(read, name, options, async (index) => {
        await withBar((show) =>
          index.train({
            ...(lists !== undefined && { nLists: Number(lists) }),
            onProgress: ({ phase, done, total }) => show(done, total, phase),
          }),
        );
        const { nLists } = await index.describe();
        print(`Trained ${name}: ${nLists} ${nLists === 1 ? "list" : "lists"}.`);
      }),
    );

  add("split <name>", "Split shards of a collection in two, while others read and write.")
    .requiredOption("--shards <number>", "number of shards afterwards")
    .action((name: string, { shards, keyFile }: KeyArguments & { readonly shards: string }) =>
      useClient(read, async (client, settings) => {
        const { index, indexKey } = await openWithKey(client, settings, name, keyFile);
        await client.splitShards({ indexName: name, indexKey, shards: Number(shards) });
        print(`${name} has ${(await index.describe()).shards} shards.`);
      }),
    );

  add("rotate-key <name>", "Change the key of an index. The old key opens nothing afterwards.")
    .requiredOption("--new-key-file <path>", "a file with the new key; made with a random key if absent")
    .action((name: string, { newKeyFile, ...options }: KeyArguments & { readonly newKeyFile: string }) =>
      useIndex(read, name, options, async (index) => {
        await index.rotateKey(await newKeyIn(newKeyFile, "--new-key-file"));
        print(`${name} opens with the key in ${newKeyFile}.`);
      }),
    );

  add("copy <name>", "Copy an index and verify the copy, which has the same keys.")
    .option("--to <location>", "where to, as in SEALDEX_INDEX_LOCATION (default: beside the original)")
    .option("--new-name <name>", "its name there (default: the same)")
    .action((name: string, options: CopyArguments) =>
      useClient(read, (client, settings) => copy(client, settings, name, options)),
    );

  add("delete <name>", "Delete an index and all its data.")
    .option("--yes", "confirm that it cannot be undone")
    .action((name: string, { yes, keyFile }: KeyArguments & { readonly yes?: boolean }) =>
      useClient(read, async (client, settings) => {
        if (yes !== true) throw invalid(`delete: add --yes to delete ${name} and all its data`);
        const { indexKey } = await openWithKey(client, settings, name, keyFile);
        await client.deleteIndex({ indexName: name, indexKey });
        print(`Deleted ${name}.`);
      }),
    );
}

async function copy(
  client: EmbeddedClient,
  settings: Settings,
  indexName: string,
  { to, newName, keyFile }: CopyArguments,
): Promise<void> {
  const target = to === undefined ? clientOptions(settings) : { indexLocation: readLocation(to, "--to") };
  const { indexKey } = await openWithKey(client, settings, indexName, keyFile);
  const name = { indexName, indexKey, ...(newName !== undefined && { newName }) };
  await withBar((show) =>
    copyIndex({
      ...name,
      from: client,
      to: target,
      onProgress: ({ phase, bytesDone, bytes }) => show(bytesDone, bytes, phase),
    }),
  );
  print(`Copied ${indexName}${newName === undefined ? "" : ` to ${newName}`}.`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
