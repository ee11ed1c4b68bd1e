/** Creates an index: a record of its own name, and an empty first manifest. */

import { indexConfigOptions } from "../api/method-options.js";
import type { CreateIndexOptions } from "../api/vector-index.js";
import { takeOptions } from "../checks/option-names.js";
import { modelName } from "../embedding/built-in.js";
import type { Embedder } from "../embedding/embedder.js";
import { identify } from "../embedding/index-embedder.js";
import { SealdexError } from "../errors.js";
import { type KeySource, parseKeySource } from "../keys/key-provider.js";
import type { CollectionMembers } from "../state/commit/manifest.js";
import { createConfirmed } from "../state/commit/create-confirmed.js";
import { checkIndexName, manifestName, recordName } from "../state/commit/object-names.js";
import { defineText } from "../text/define-text.js";
import type { TextDefinition } from "../text/text-options.js";
import { defineIndex } from "./define-index.js";
import { openIndex, plainIndex } from "./open/assemble.js";
import type { ClientResources, ClientStores } from "./open/client-resources.js";
import { createRecord } from "./open/index-record.js";
import type { OpenIndex } from "./open/open-index.js";
import type { IndexDefinition } from "./open/stored-definition.js";
import { listRecords } from "./open/record-access.js";

/** A new index, with its arguments copied. */
export interface CreateRequest {
  readonly options: CreateIndexOptions;
  readonly source: KeySource;
}

/** Throws `invalid_request`. The key is read at once: its bytes are the caller's. */
export function createRequest(options: CreateIndexOptions): CreateRequest {
  const { indexName, indexConfig, indexKey } = options;
  checkIndexName(indexName);
  const source = parseKeySource(indexKey);
  const own = indexConfig && { indexConfig: takeOptions(indexConfig, indexConfigOptions) };
  return { options: { ...options, ...own }, source };
}

/** Throws `already_exists`, or `storage_unavailable` if the creation took so long that it was collected. */
export async function createIndex(
  { options, source }: CreateRequest,
  embedder: Embedder | undefined,
  stores: ClientStores,
  resources: ClientResources,
): Promise<OpenIndex> {
  const definition = await definitionOf(options, embedder);
  return storeIndex({ ...options, source, definition, members: undefined }, stores, resources);
}

/** The definition of a new index. */
export async function definitionOf(
  options: CreateIndexOptions,
  embedder: Embedder | undefined,
): Promise<IndexDefinition> {
  const text = wordsOf(options);
  const known = embedder && (await identify(embedder, nameOf(options)));
  return { ...defineIndex(options, known), ...(text && { text }) };
}

interface NewIndex extends Pick<CreateIndexOptions, "indexName" | "signal"> {
  readonly source: KeySource;
  readonly definition: IndexDefinition;
  /** Of a collection: makes its shards. `id`: of the new collection. */
  readonly members: ((id: Uint8Array) => Promise<CollectionMembers>) | undefined;
}

/** Stores the first manifest and the record of a new index or collection. Throws as `createIndex`. */
export async function storeIndex(
  { indexName, signal, source, definition, members }: NewIndex,
  stores: ClientStores,
  resources: ClientResources,
): Promise<OpenIndex> {
  const { configStore } = stores;
  const taken = () =>
    new SealdexError("already_exists", `index "${indexName}": it already exists; open it with loadIndex`);
  if ((await listRecords(configStore, indexName)).length > 0) throw taken();

  const name = recordName(indexName, 1);
  const { bytes, opened } = await createRecord(source, name, definition);
  const index = openIndex(indexName, opened, stores, resources, {
    ...plainIndex,
    isCollection: members !== undefined,
  });
  const first = await members?.(opened.indexId);
  // The record comes last: it takes the name, and by then the index is complete.
  signal?.throwIfAborted();
  await index.log.createFirst(first);
  if (signal?.aborted || !(await createConfirmed(configStore, name, bytes))) {
    await index.log.store.delete([manifestName(opened.indexId, 1)]);
    signal?.throwIfAborted();
    throw taken();
  }
  if (!(await index.log.exists())) {
    await configStore.delete([name]);
    throw new SealdexError(
      "storage_unavailable",
      `index "${indexName}": its creation was delayed for too long`,
    );
  }
  await index.log.anchorBeginning();
  return index;
}

/** The name that a new index remembers its model by. */
function nameOf({ embeddingModel, embedding }: CreateIndexOptions): string | undefined {
  const name = embeddingModel ?? (typeof embedding === "string" ? embedding : undefined);
  return name && modelName(name);
}

/** How the texts of a new index are searched by words. */
function wordsOf({ textIndex = false }: CreateIndexOptions): TextDefinition | undefined {
  if (textIndex === false) return undefined;
  return defineText(textIndex === true ? {} : textIndex);
}
