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
export { collectGarbage } from "./index/locations/collect-garbage.js";
export type { CollectedIndex } from "./index/maintenance/orphans.js";
export { copyIndex } from "./index/locations/copy-index.js";
export { generateKey } from "./crypto/keys.js";
export type { IndexType, Metric } from "./engine/config.js";
export type { Image } from "./embedding/image.js";
export { exportItems } from "./api/transfer/export-items.js";
export { importItems } from "./api/transfer/import-items.js";
export { ingest, type IngestResult } from "./api/transfer/ingest.js";
export { reembed } from "./api/transfer/reembed.js";
export { type ErrorCode, SealdexError } from "./errors.js";
export type { Filter } from "./api/filter/compile.js";
export { awsKmsKey } from "./keys/aws-kms.js";
export { googleKmsKey } from "./keys/google-kms.js";
export type { KeyProvider } from "./keys/key-provider.js";
export { fileKey, passphraseKey } from "./keys/secret-providers.js";
export { vaultKey } from "./keys/vault.js";
export type { BlobStore } from "./storage/blob-store.js";
export type { StorageLocation } from "./storage/storage-location.js";
export { openLocation } from "./storage/location.js";
export { withRetries } from "./storage/retrying.js";
export type {
  BatchQuery,
  Client,
  CreateIndexOptions,
  DefaultInclude,
  EmbeddedClient,
  EmbeddedClientOptions,
  ErasureReceipt,
  Highlight,
  HttpClientOptions,
  IndexConfigInput,
  IndexDescription,
  IndexKey,
  Item,
  ItemField,
  ItemPage,
  ListItemsOptions,
  Match,
  MatchField,
  MemoryUse,
  Metadata,
  QueryOptions,
  QueryProfile,
  RankedMatch,
  ScoredMatch,
  SideScores,
  SingleQuery,
  StoredItem,
  TrainingProgress,
  UpdateResult,
  UpsertResult,
  Vector,
  VectorIndex,
  WrapDescription,
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
