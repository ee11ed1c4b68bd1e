/**
 * Everything but LangChain.
 *
 * @module sealdex/core
 */

import { invalid, typeName } from "./checks/input.js";
import { createClient as createHttpClient } from "./client/client.js";
import { EmbeddedClient as ClientOfLocations } from "./index/embedded-client.js";
import { hasOption } from "./checks/option-names.js";
import type { Client, EmbeddedClient, EmbeddedClientOptions, HttpClientOptions } from "./api/vector-index.js";

export { checkLocations } from "./index/locations/check-locations.js";
export { collectGarbage, type CollectGarbageOptions } from "./index/locations/collect-garbage.js";
export type { CollectedIndex } from "./index/maintenance/orphans.js";
export { copyIndex, type CopyIndexOptions } from "./index/locations/copy-index.js";
export type { CopyProgress } from "./index/maintenance/copy-objects.js";
export { generateKey } from "./crypto/keys.js";
export type { IndexType, Metric } from "./engine/config.js";
export type { Image, Pixels } from "./embedding/image.js";
export type { Embedder, EmbeddingFunction, EmbeddingInput, EmbeddingPipeline } from "./embedding/embedder.js";
export type { DocumentCompressor, Reranker, RerankInput } from "./embedding/reranker.js";
export { exportItems, type ExportOptions } from "./api/transfer/export-items.js";
export { importItems, type ImportOptions, type ImportProgress } from "./api/transfer/import-items.js";
export { ingest, type IngestOptions, type IngestResult } from "./api/transfer/ingest.js";
export type { VectorForm } from "./api/transfer/item-line.js";
export { reembed, type ReembedOptions, type ReembedProgress } from "./api/transfer/reembed.js";
export type { ModelOptions, ModelProgress } from "./embedding/model-options.js";
export { type ErrorCode, SealdexError } from "./errors.js";
export type { Filter } from "./api/filter/compile.js";
export { awsKmsKey, type AwsKmsKeyOptions, type KmsClientLike } from "./keys/aws-kms.js";
export { googleKmsKey, type GoogleKmsKeyOptions } from "./keys/google-kms.js";
export type { KeyContext, KeyProvider } from "./keys/key-provider.js";
export { fileKey, type FileKeyOptions, passphraseKey } from "./keys/secret-providers.js";
export { vaultKey, type VaultKeyOptions } from "./keys/vault.js";
export type { BlobStore, ByteRange, ListOptions, OperationOptions } from "./storage/blob-store.js";
export type {
  GcsLocation,
  LocalLocation,
  MemoryLocation,
  PostgresLocation,
  RedisLocation,
  S3Location,
  StorageLocation,
} from "./storage/storage-location.js";
export { openLocation } from "./storage/location.js";
export { type RetryOptions, withRetries } from "./storage/retrying.js";
export type {
  AnalyzerOptions,
  BatchQuery,
  CallOptions,
  Client,
  CountOptions,
  CreateIndexOptions,
  DeclaredRecall,
  DefaultInclude,
  EmbeddedClient,
  EmbeddedClientOptions,
  FlatIndexConfig,
  Fusion,
  GetOptions,
  Highlight,
  HttpClientOptions,
  IndexConfigInput,
  IndexDescription,
  IndexKey,
  Item,
  ItemChange,
  ItemField,
  ItemPage,
  ItemsOptions,
  ListIdsOptions,
  ListIndexesOptions,
  ListItemsOptions,
  LoadIndexOptions,
  Match,
  MatchField,
  MemoryUse,
  Metadata,
  MetadataInput,
  OpenIndexOptions,
  PlainIndexConfig,
  PqIndexConfig,
  ProbingOptions,
  QueryOptions,
  RankedMatch,
  RankedQuery,
  ScoredMatch,
  Selection,
  SideScores,
  SingleQuery,
  StoredItem,
  TextIndexOptions,
  TextQuery,
  TrainingProgress,
  TrainOptions,
  UpdateResult,
  UpdateSelection,
  UpsertOptions,
  UpsertResult,
  Vector,
  VectorIndex,
  WordField,
  WordQuery,
  WrapDescription,
  WrapOptions,
  Wraps,
} from "./api/vector-index.js";

/**
 * Opens storage locations, or a Sealdex service over HTTP, with the same interface. Connects at the
 * first call.
 */
export function createClient(options: EmbeddedClientOptions): EmbeddedClient;
export function createClient(options: HttpClientOptions): Client;
export function createClient(
  options:
    | (EmbeddedClientOptions & { readonly [K in keyof HttpClientOptions]?: never })
    | (HttpClientOptions & { readonly [K in keyof EmbeddedClientOptions]?: never }),
): Client;
export function createClient(options: EmbeddedClientOptions | HttpClientOptions): Client {
  if (typeof options !== "object" || options === null) {
    throw invalid(`createClient: expected an object, got ${typeName(options)}`);
  }
  return hasOption(options, "baseUrl")
    ? createHttpClient(options as HttpClientOptions)
    : new ClientOfLocations(options as EmbeddedClientOptions);
}
