/** Creates indexes, for `index create` and `import --create`. */

import { type Command, Option } from "commander";
import type { CreateIndexOptions, EmbeddedClient, IndexConfigInput, VectorIndex } from "sealdex/core";
import type { Settings } from "../settings/settings.js";
import { indexKeyOf, type KeyArguments, newKeyIn } from "./open-index.js";

export interface DefinitionArguments extends KeyArguments {
  readonly type: "ivfflat" | "ivf" | "ivfpq";
  readonly dimension?: string;
  readonly metric: NonNullable<CreateIndexOptions["metric"]>;
  readonly model?: string;
  readonly textIndex?: boolean;
  readonly shards?: string;
}

export function withDefinition(command: Command): Command {
  return command
    .addOption(
      new Option("--type <type>", "index type").choices(["ivfflat", "ivf", "ivfpq"]).default("ivfflat"),
    )
    .addOption(
      new Option("--metric <metric>", "distance")
        .choices(["euclidean", "cosine", "squared_euclidean"])
        .default("euclidean"),
    )
    .option("--dimension <number>", "length of vectors (default: the model's, or the first vector's)")
    .option("--model <name>", "embedding model for texts, such as default")
    .option("--text-index", "enable keyword search")
    .option("--shards <number>", "create a collection of so many indexes");
}

/** A key file that does not exist gets a new key. */
export async function createIndex(
  settings: Settings,
  client: EmbeddedClient,
  indexName: string,
  { type, dimension, metric, model, textIndex, shards, keyFile }: DefinitionArguments,
): Promise<VectorIndex> {
  const indexKey =
    keyFile === undefined ? await indexKeyOf(settings, keyFile) : await newKeyIn(keyFile, "--key-file");
  const indexConfig: IndexConfigInput = {
    type,
    ...(dimension !== undefined && { dimension: Number(dimension) }),
  };
  const request = {
    indexName,
    indexKey,
    indexConfig,
    metric,
    ...(model !== undefined && { embeddingModel: model }),
    ...(textIndex === true && { textIndex }),
  };
  return shards === undefined
    ? client.createIndex(request)
    : client.createCollection({ ...request, shards: Number(shards) });
}
