/** Creates indexes, for `index create` and `import --create`. */

import { type Command, Option } from "commander";
import {
  createClient,
  type CreateIndexOptions,
  type EmbeddedClient,
  generateKey,
  type IndexConfigInput,
  type IndexKey,
  SealdexError,
  type VectorIndex,
} from "sealdex/core";
import { invalid } from "sealdex/wire";
import type { Settings } from "../settings/settings.js";
import { clientOptions, indexKeyOf, type KeyArguments, newKeyIn } from "./open-index.js";

export interface DefinitionArguments extends KeyArguments {
  readonly type?: "ivfflat" | "ivf" | "ivfpq";
  readonly dimension?: string;
  readonly metric?: NonNullable<CreateIndexOptions["metric"]>;
  readonly model?: string;
  readonly textIndex?: boolean;
  readonly shards?: string;
}

export function withDefinition(command: Command): Command {
  return command
    .addOption(
      new Option("--type <type>", "index type (default: ivfflat)").choices(["ivfflat", "ivf", "ivfpq"]),
    )
    .addOption(
      new Option("--metric <metric>", "distance (default: euclidean)").choices([
        "euclidean",
        "cosine",
        "squared_euclidean",
      ]),
    )
    .option("--dimension <number>", "length of vectors (default: the model's, or the first vector's)")
    .option("--model <name>", "embedding model for texts, such as default")
    .option("--text-index", "enable keyword search")
    .option("--shards <number>", "create a collection of so many indexes");
}

/** A key file that does not exist gets a new key, unless the index cannot be created. */
export async function createIndex(
  settings: Settings,
  client: EmbeddedClient,
  indexName: string,
  { keyFile, ...definition }: DefinitionArguments,
): Promise<VectorIndex> {
  if (keyFile === undefined) {
    return createWith(client, indexName, await indexKeyOf(settings, keyFile), definition);
  }
  if ((await client.listIndexes()).includes(indexName)) {
    throw new SealdexError("already_exists", `index "${indexName}": it already exists`);
  }
  // In memory, all options are checked before a key is written.
  const { models } = clientOptions(settings);
  const rehearsal = createClient({ indexLocation: { location: "memory" }, models });
  try {
    await createWith(rehearsal, indexName, generateKey(), definition);
  } finally {
    await rehearsal.close();
  }
  return createWith(client, indexName, await newKeyIn(keyFile, "--key-file"), definition);
}

/** Throws `invalid_request` for an option that an existing index contradicts. */
export async function checkDefinition(index: VectorIndex, asked: DefinitionArguments): Promise<void> {
  const { type, metric, dimension, embeddingModel, textIndex = false } = await index.describe();
  const options = [
    ["--type", asked.type, type],
    ["--metric", asked.metric, metric],
    // The first vector may determine it yet.
    ["--dimension", asked.dimension, dimension ?? asked.dimension],
    // The index has the full name of a model that has a short one.
    ["--model", asked.model, embeddingModel === undefined ? "none" : asked.model],
    ["--text-index", asked.textIndex, textIndex],
  ] as const;
  for (const [option, wanted, actual] of options) {
    if (wanted === undefined || String(wanted) === String(actual)) continue;
    throw invalid(`${option}: expected ${actual}, as in the existing index, got ${wanted}`);
  }
}

function createWith(
  client: EmbeddedClient,
  indexName: string,
  indexKey: IndexKey,
  { type, dimension, metric, model, textIndex, shards }: DefinitionArguments,
): Promise<VectorIndex> {
  const indexConfig: IndexConfigInput = {
    type: type ?? "ivfflat",
    ...(dimension !== undefined && { dimension: Number(dimension) }),
  };
  const request = {
    indexName,
    indexKey,
    indexConfig,
    ...(metric !== undefined && { metric }),
    ...(model !== undefined && { embeddingModel: model }),
    ...(textIndex === true && { textIndex }),
  };
  return shards === undefined
    ? client.createIndex(request)
    : client.createCollection({ ...request, shards: Number(shards) });
}
