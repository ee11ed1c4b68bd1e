/** Opens the index of a command at the locations of the service. */

import type { Command } from "commander";
import {
  createClient,
  type EmbeddedClient,
  fileKey,
  type IndexKey,
  SealdexError,
  type VectorIndex,
} from "sealdex/core";
import { createKeyFile, invalid } from "sealdex/wire";
import { readSecret } from "../settings/secret-file.js";
import type { ReadSettings, Settings } from "../settings/settings.js";

export interface KeyArguments {
  readonly keyFile?: string;
}

export function withKeyFile(command: Command): Command {
  return command.option(
    "--key-file <path>",
    "a file with its key, 64 hexadecimal characters (default: SEALDEX_INDEX_KEY)",
  );
}

type ClientWork = (client: EmbeddedClient, settings: Settings) => Promise<void>;

export async function useClient(read: ReadSettings, work: ClientWork): Promise<void> {
  const settings = read();
  const client = createClient(clientOptions(settings));
  try {
    await work(client, settings);
  } finally {
    await client.close();
  }
}

/** Opens an existing index. */
export function useIndex(
  read: ReadSettings,
  indexName: string,
  { keyFile }: KeyArguments,
  work: (index: VectorIndex) => Promise<void>,
): Promise<void> {
  return useClient(read, async (client, settings) => {
    const { index } = await openWithKey(client, settings, indexName, keyFile);
    await work(index);
  });
}

export function clientOptions({
  indexLocation,
  configLocation,
  anchorLocation,
  models,
  storageTimeoutMs,
}: Settings) {
  if ((configLocation ?? indexLocation).location === "memory") {
    throw invalid("the location is memory:, which other processes cannot read");
  }
  // Limits of the service's clients do not apply to its operator.
  const { allowed: _allowed, failWhileLoading: _failWhileLoading, ...others } = models;
  return {
    indexLocation,
    ...(configLocation && { configLocation }),
    ...(anchorLocation && { anchorLocation }),
    models: others,
    storageTimeoutMs,
    automaticTraining: false,
  };
}

export async function indexKeyOf({ indexKey }: Settings, keyFile: string | undefined): Promise<IndexKey> {
  if (keyFile !== undefined) return (await readSecret(keyFile, "--key-file")).trim();
  if (indexKey !== undefined) return indexKey;
  throw invalid("--key-file: expected a file with the key of the index, or SEALDEX_INDEX_KEY, got neither");
}

interface OpenedIndex {
  readonly index: VectorIndex;
  readonly indexKey: IndexKey;
}

/** Opens an index by the key in the file: that key, or a key provider for it, as the library's `fileKey`. */
export async function openWithKey(
  client: EmbeddedClient,
  settings: Settings,
  indexName: string,
  keyFile: string | undefined,
): Promise<OpenedIndex> {
  const open = async (indexKey: IndexKey) => ({
    index: await client.loadIndex({ indexName, indexKey }),
    indexKey,
  });
  try {
    return await open(await indexKeyOf(settings, keyFile));
  } catch (error) {
    const isOther = error instanceof SealdexError && error.code === "wrong_index_key";
    if (keyFile === undefined || !isOther) throw error;
    return open(fileKey(keyFile));
  }
}

/** The key in a file, which gets a new one if there is no such file. */
export async function newKeyIn(path: string, where: string): Promise<string> {
  if (await createKeyFile(path))
    process.stderr.write(`Wrote a new key to ${path}. Keep a copy: nothing can replace it.\n`);
  return (await readSecret(path, where)).trim();
}
