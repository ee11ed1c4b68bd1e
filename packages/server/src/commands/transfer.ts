/** `sealdex-server export` and `sealdex-server import`: the items of an index as lines of JSON. */

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Command } from "commander";
import { type EmbeddedClient, exportItems, type Filter, importItems, type VectorIndex } from "sealdex/core";
import { invalid, type VectorForm } from "sealdex/wire";
import type { ReadSettings, Settings } from "../settings/settings.js";
import { checkDefinition, createIndex, type DefinitionArguments, withDefinition } from "./new-index.js";
import { type KeyArguments, openWithKey, useClient, useIndex, withKeyFile } from "./open-index.js";
import { withBar } from "./progress-bar.js";

interface ExportArguments extends KeyArguments {
  readonly index: string;
  readonly filter?: string;
  readonly after?: string;
  readonly vectors: VectorForm;
}

interface ImportArguments extends DefinitionArguments {
  readonly index: string;
  readonly fromLine: string;
  readonly skipUnchanged?: boolean;
  readonly create?: boolean;
}

export function addTransferCommands(program: Command, read: ReadSettings): void {
  withKeyFile(
    program
      .command("export")
      .description(
        "Write the items of an index to standard output, decrypted, as lines of JSON. Needs the locations of the service.",
      )
      .requiredOption("--index <name>", "the index"),
  )
    .option("--filter <json>", "only items whose metadata match")
    .option("--after <id>", "resume after this id")
    .option("--vectors <form>", "base64 (float32, little-endian), numbers or none", "base64")
    .action((options: ExportArguments) =>
      useIndex(read, options.index, options, (index) => exportTo(index, options)),
    );

  withDefinition(
    withKeyFile(
      program
        .command("import")
        .description(
          "Store items from standard input, in the format of export or as lines of JSON of other stores. Needs the locations of the service.",
        )
        .requiredOption("--index <name>", "the index"),
    )
      .option("--from-line <number>", "the first line to store, to resume", "1")
      .option("--skip-unchanged", "skip items already stored unchanged")
      .option("--create", "create the index if it does not exist, as the other options say"),
  ).action((options: ImportArguments) =>
    useClient(read, async (client, settings) => {
      const fromLine = Number(options.fromLine);
      // Before an index is created.
      if (!Number.isSafeInteger(fromLine) || fromLine < 1)
        throw invalid("--from-line: expected an integer from 1");
      await importFrom(await targetOf(settings, client, options), fromLine, options);
    }),
  );
}

interface Target {
  readonly index: VectorIndex;
  readonly isNew: boolean;
}

/** The index to import into. */
async function targetOf(
  settings: Settings,
  client: EmbeddedClient,
  options: ImportArguments,
): Promise<Target> {
  const { index: indexName, keyFile } = options;
  const isNew = options.create === true && !(await client.listIndexes()).includes(indexName);
  if (isNew) return { index: await createIndex(settings, client, indexName, options), isNew };
  const { index } = await openWithKey(client, settings, indexName, keyFile);
  await checkDefinition(index, options);
  return { index, isNew };
}

async function exportTo(index: VectorIndex, { filter, after, vectors }: ExportArguments): Promise<void> {
  const lines = exportItems({
    from: index,
    ...(filter !== undefined && { filter: parseFilter(filter) }),
    after,
    vectors,
  });
  await pipeline(Readable.from(lines), process.stdout);
}

/** Says after a failure how to resume. */
async function importFrom(
  { index, isNew }: Target,
  fromLine: number,
  { skipUnchanged = false, model }: ImportArguments,
): Promise<void> {
  let done = fromLine - 1;
  try {
    const { items, lines } = await withBar((show) =>
      importItems({
        to: index,
        lines: process.stdin,
        fromLine,
        skipUnchanged,
        onProgress: (progress) => {
          done = progress.lines;
          show(progress.items, undefined, "items");
        },
      }),
    );
    process.stdout.write(`Imported ${items} items (${lines} lines).\n`);
  } catch (error) {
    const isEmpty = isNew && done < fromLine;
    const advice =
      isEmpty && model === undefined
        ? "the new index embeds no texts: for lines without vectors, delete it, and add --model default"
        : `to resume: --from-line ${done + 1}`;
    process.stderr.write(`${advice}\n`);
    throw error;
  }
}

function parseFilter(text: string): Filter {
  try {
    return JSON.parse(text) as Filter;
  } catch {
    throw invalid("--filter: expected JSON");
  }
}
