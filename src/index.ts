/**
 * The encrypted vector index and its LangChain.js vector store.
 *
 * @module sealdex
 */

export {
  awsKmsKey,
  collectGarbage,
  copyIndex,
  createClient,
  exportItems,
  fileKey,
  generateKey,
  googleKmsKey,
  importItems,
  ingest,
  passphraseKey,
  SealdexError,
  vaultKey,
} from "./core.js";
export type {
  BatchQuery,
  BlobStore,
  Client,
  CreateIndexOptions,
  EmbeddedClient,
  EmbeddedClientOptions,
  ErrorCode,
  Filter,
  HttpClientOptions,
  Image,
  IndexConfigInput,
  IndexDescription,
  IndexKey,
  IndexType,
  KeyProvider,
  Item,
  Match,
  Metadata,
  Metric,
  QueryOptions,
  StorageLocation,
  StoredItem,
  VectorIndex,
} from "./core.js";
export type { DocumentPage, DocumentsOptions, ListDocumentsOptions } from "./langchain/documents.js";
export type { AddOptions, AddProgress } from "./langchain/add-documents.js";
export type { AddImagesOptions } from "./langchain/add-images.js";
export { type DeleteParams, EncryptedVectorStore } from "./langchain/encrypted-vector-store.js";
export type { HybridSearchOptions, KeywordSearchOptions } from "./langchain/hybrid-search.js";
export { EncryptedByteStore, type EncryptedByteStoreArgs } from "./langchain/encrypted-byte-store.js";
export { LexicalEmbeddings } from "./langchain/embeddings.js";
export { SealdexEmbeddings, type SealdexEmbeddingsParams } from "./langchain/embeddings.js";
export { SealdexReranker, type SealdexRerankerParams } from "./langchain/reranker.js";
export { SealdexTranslator } from "./langchain/self-query-translator.js";
export { EncryptedSemanticCache, type SemanticCacheOptions } from "./langchain/semantic-cache.js";
export type { EmbeddingsInput } from "./langchain/choose-embeddings.js";
export type {
  EncryptedVectorStoreArgs,
  EncryptedVectorStoreFactoryArgs,
  EncryptedVectorStoreFields,
} from "./langchain/store-options.js";
