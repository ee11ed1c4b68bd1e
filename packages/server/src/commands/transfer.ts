/** `sealdex-server export` and `sealdex-server import`: the items of an index as lines of JSON. */

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Command } from "commander";
import {
  createClient,
  exportItems,
  type Filter,
  importItems,
  type VectorForm,
  type VectorIndex,
} from "sealdex/core";
import { invalid } from "sealdex/wire";
import { readSecret } from "../settings/secret-file.js";
import type { ReadSettings, Settings } from "../settings/settings.js";

interface IndexArguments {
  readonly index: string;
  readonly keyFile?: string;
}

type Work = (index: VectorIndex) => Promise<void>;

interface ExportArguments extends IndexArguments {
  readonly filter?: string;
  readonly after?: string;
  readonly vectors: VectorForm;
}

interface ImportArguments extends IndexArguments {
  readonly fromLine: string;
  readonly skipUnchanged?: boolean;
}

export function addTransferCommands(program: Command, read: ReadSettings): void {
  const withIndex = (options: IndexArguments, work: Work) => runWithIndex(read(), options, work);

  program
    .command("export")
    .description(
      "Write the items of an index to standard output, decrypted, as lines of JSON. Needs the locations of the service.",
    )
    .requiredOption("--index <name>", "the index")
    .option(
      "--key-file <path>",
      "a file with its key, 64 hexadecimal characters (default: SEALDEX_INDEX_KEY)",
    )
    .option("--filter <json>", "only items whose metadata match")
    .option("--after <id>", "resume after this id")
    .option("--vectors <form>", "base64 (float32, little-endian), numbers or none", "base64")
    .action((options: ExportArguments) => withIndex(options, (index) => exportTo(index, options)));

  program
    .command("import")
    .description(
      "Store items from standard input, in the format of export, in an existing index. Needs the locations of the service.",
    )
    .requiredOption("--index <name>", "the index")
    .option(
      "--key-file <path>",
      "a file with its key, 64 hexadecimal characters (default: SEALDEX_INDEX_KEY)",
    )
    .option("--from-line <number>", "the first line to store, to resume", "1")
    .option("--skip-unchanged", "skip items already stored unchanged")
    .action((options: ImportArguments) => withIndex(options, (index) => importFrom(index, options)));
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

/** Prints progress to standard error, and after a failure how to resume. */
async function importFrom(
  index: VectorIndex,
  { fromLine, skipUnchanged = false }: ImportArguments,
): Promise<void> {
  let lines = Number(fromLine) - 1;
  try {
    const { items } = await importItems({
      to: index,
      lines: process.stdin,
      fromLine: Number(fromLine),
      skipUnchanged,
      onProgress: (progress) => {
        ({ lines } = progress);
        process.stderr.write(`${lines} lines stored\n`);
      },
    });
    process.stderr.write(`Imported ${items} items (${lines} lines).\n`);
  } catch (error) {
    process.stderr.write(`to resume: --from-line ${lines + 1}\n`);
    throw error;
  }
}

async function runWithIndex(
  settings: Settings,
  { index: indexName, keyFile }: IndexArguments,
  work: Work,
): Promise<void> {
  const { indexLocation, configLocation, anchorLocation, indexKey: provider } = settings;
  const indexKey = keyFile === undefined ? provider : (await readSecret(keyFile, "--key-file")).trim();
  if (indexKey === undefined) {
    throw invalid("--key-file: expected a file with the key of the index, or SEALDEX_INDEX_KEY, got neither");
  }
  const locations = { indexLocation, configLocation, ...(anchorLocation && { anchorLocation }) };
  // Limits of the service's clients do not apply to its operator.
  const { allowed: _allowed, failWhileLoading: _failWhileLoading, ...models } = settings.models;
  const client = createClient({ ...locations, models, automaticTraining: false });
  try {
    await work(await client.loadIndex({ indexName, indexKey }));
  } finally {
    await client.close();
  }
}

function parseFilter(text: string): Filter {
  try {
    return JSON.parse(text) as Filter;
  } catch {
    throw invalid("--filter: expected JSON");
  }
}
