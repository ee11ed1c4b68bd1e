/** Options of an `EncryptedVectorStore`. */

import { isBytes } from "../checks/value-kinds.js";
import { type ModelOptions, modelOptions } from "../embedding/model-options.js";
import {
  dimensionMax,
  type IndexType,
  type Metric,
  pqBitsMax,
  type Precision,
  shardsMax,
} from "../engine/config.js";
import type { Filter } from "../api/filter/compile.js";
import { checkInteger, invalid, losslessJson, typeName } from "../checks/input.js";
import { embeddedClientNames, httpClientNames } from "../api/method-options.js";
import { hasOption, type OptionNames, optionNames, takeOptions } from "../checks/option-names.js";
import type {
  Client,
  DeclaredRecall,
  EmbeddedClientOptions,
  HttpClientOptions,
  IndexKey,
  TextIndexOptions,
} from "../api/vector-index.js";
import type { EmbeddingsInput } from "./choose-embeddings.js";

/** For a new index. An existing one that differs is refused. */
interface IndexKind {
  /** Default `ivfflat`. */
  readonly indexType?: IndexType;
  readonly indexConfigParams?: {
    readonly nLists?: number | undefined;
    /** `ivfflat` only. */
    readonly precision?: Precision | undefined;
    /** `ivfflat` only. */
    readonly spilling?: boolean | undefined;
    /** Checked, and unused unless `indexType` is `ivfpq`. */
    readonly pqDim?: number | undefined;
    /** Checked, and unused unless `indexType` is `ivfpq`. */
    readonly pqBits?: number | undefined;
  };
}

interface StoreFields {
  /** 1 to 128 bytes of UTF-8. Not secret. */
  readonly indexName: string;
  /**
   * 64 hexadecimal characters or 32 bytes. Needed to open the index again: without the key, the
   * data are lost.
   */
  readonly indexKey: IndexKey;
  /** For a new index. Default `cosine`. An existing index with another metric is refused. */
  readonly metric?: Metric;
  /**
   * ANDed with the filter of every call. Documents that it does not match are never found,
   * returned, deleted, added or replaced: a batch with such a document, or with the id of one, is
   * refused with `forbidden`. Copied when the store is created.
   */
  readonly filter?: Filter;
  /**
   * The namespace of every call: documents are stored in it, and others are never found, returned,
   * listed or deleted. Default: the call's, see `NamespaceOption`.
   */
  readonly namespace?: string | undefined;
  /** Default recall of searches; replaces `nProbes` and `greedy`. See `ProbingOptions`. */
  readonly recall?: DeclaredRecall | undefined;
  /** Inverted lists to probe. Default: the index chooses. */
  readonly nProbes?: number;
  /** Continues while an unprobed list could contain a closer document. Default false. */
  readonly greedy?: boolean;
  /** Options for models that are loaded by name. */
  readonly models?: ModelOptions;
  /**
   * For a new index: enables keyword search. `true` for English texts. Default: disabled. An
   * existing index with one while the option is false, or without one while it is true, is refused.
   */
  readonly textIndex?: TextIndexOptions | boolean;
  /**
   * For a new index: creates a collection of this many indexes, 1 to 4,096, see docs/scale.md. An existing index
   * with another number, or none, is refused. Default: one index; an existing collection is used as it is.
   */
  readonly shards?: number;
}

export type StoreOptions = StoreFields & IndexKind;

interface StoreAtLocation extends EmbeddedClientOptions {
  /** For a service. The specification's wrapper accepts it with storage locations too. */
  readonly apiKey?: string | undefined;
}

/**
 * Place of the index: storage locations, a Sealdex service, or the caller's client, which the
 * caller closes.
 */
export type EncryptedVectorStoreArgs = StoreOptions &
  (StoreAtLocation | HttpClientOptions | { readonly client: Client });

/** All arguments in one object. */
export type EncryptedVectorStoreFields = EncryptedVectorStoreArgs & { readonly embeddings: EmbeddingsInput };

/** Arguments of the factories: those of the store, and ids of the documents. */
export type EncryptedVectorStoreFactoryArgs = EncryptedVectorStoreArgs & { readonly ids?: readonly string[] };

type SelectorArgs = EncryptedVectorStoreFactoryArgs & {
  readonly k?: unknown;
  readonly inputKeys?: unknown;
  readonly exampleKeys?: unknown;
};

const own = {
  indexName: true,
  indexKey: true,
  indexType: true,
  indexConfigParams: true,
  metric: true,
  filter: true,
  namespace: true,
  recall: true,
  nProbes: true,
  greedy: true,
  models: true,
  textIndex: true,
  shards: true,
} as const;
/** Other stores' names, and ours. */
const elsewhere = {
  collectionName: '"indexName"',
  tableName: '"indexName"',
  embedding: '"embeddings"',
  distance: '"metric"',
  scoreThreshold: "ScoreThresholdRetriever of @langchain/classic",
  // The first property of LangChain's Embeddings, given where the options belong.
  caller: "new EncryptedVectorStore(embeddings, options)",
};
const withClient = optionNames<StoreOptions & { client: Client }>(
  "store",
  { ...own, client: true },
  modelOptions,
  elsewhere,
);
const withUrl = optionNames<StoreOptions & HttpClientOptions>(
  "store",
  { ...own, ...httpClientNames },
  modelOptions,
  elsewhere,
);
const withLocation = optionNames<StoreOptions & StoreAtLocation>(
  "store",
  { ...own, ...embeddedClientNames, apiKey: true },
  modelOptions,
  elsewhere,
);

const paramNames = optionNames<StoreOptions["indexConfigParams"] & object>("indexConfigParams", {
  nLists: true,
  precision: true,
  spilling: true,
  pqDim: true,
  pqBits: true,
});

/**
 * Copies the options. Throws `invalid_request` for unknown options, or those of another kind of
 * location.
 */
export function takeStoreOptions(options: EncryptedVectorStoreArgs): EncryptedVectorStoreArgs {
  const args = takeOptions(options, namesFor(options));
  if ((args.indexKey ?? "") === "") {
    const received = args.indexKey === "" ? "an empty text" : typeName(args.indexKey);
    throw invalid(
      `indexKey: expected the key of the index, got ${received}: is the environment variable set?`,
    );
  }
  const { indexType = "ivfflat", indexConfigParams, indexKey, textIndex } = args;
  const params = indexConfigParams && takeOptions(indexConfigParams, paramNames);
  for (const name of ["precision", "spilling"] as const) {
    if (indexType === "ivfflat" || params?.[name] === undefined) continue;
    throw invalid(`indexConfigParams: expected ${name} only if indexType is ivfflat`);
  }
  if (args.shards !== undefined) checkInteger(args.shards, 1, shardsMax, "shards");
  // The specification passes all parameters for every type.
  if (params?.pqDim !== undefined) checkInteger(params.pqDim, 1, dimensionMax, "indexConfigParams: pqDim");
  if (params?.pqBits !== undefined) checkInteger(params.pqBits, 1, pqBitsMax, "indexConfigParams: pqBits");
  const { pqDim: _pqDim, pqBits: _pqBits, ...plain } = params ?? {};
  return {
    ...args,
    indexConfigParams: params && (indexType === "ivfpq" ? params : plain),
    indexKey: isBytes(indexKey) ? new Uint8Array(indexKey) : indexKey,
    textIndex: textIndex && (JSON.parse(losslessJson(textIndex, "textIndex")) as TextIndexOptions),
  } as EncryptedVectorStoreArgs;
}

/** Options of searches, and of an index that is searched. A store that only keeps values refuses them. */
export const searchOptionNames = [
  "filter",
  "greedy",
  "indexConfigParams",
  "indexType",
  "metric",
  "models",
  "nProbes",
  "recall",
  "shards",
  "textIndex",
] as const satisfies readonly OptionOfVectorStore[];

type OptionOfVectorStore = EncryptedVectorStoreArgs extends infer T
  ? T extends unknown
    ? keyof T
    : never
  : never;

/** The options of a vector store without some, for each kind of location. */
export type VectorStoreArgsWithout<N extends OptionOfVectorStore> = EncryptedVectorStoreArgs extends infer T
  ? T extends unknown
    ? Omit<T, N>
    : never
  : never;

/** Throws `invalid_request` for an option that is only for vector stores. `where`: the class. */
export function refuseOptions(args: object, names: readonly string[], where: string): void {
  for (const name of names) {
    if (hasOption(args, name)) throw invalid(`${where}: ${name} is only for vector stores`);
  }
}

function namesFor(options: EncryptedVectorStoreArgs): OptionNames {
  if (hasOption(options, "client")) return withClient;
  return hasOption(options, "baseUrl") ? withUrl : withLocation;
}

/** LangChain's example selectors pass their own options to the factory of the store. */
export function withoutSelectorOptions(
  args: EncryptedVectorStoreFactoryArgs,
): EncryptedVectorStoreFactoryArgs {
  const { k: _k, inputKeys: _inputKeys, exampleKeys: _exampleKeys, ...rest } = (args ?? {}) as SelectorArgs;
  return rest;
}

/** Splits the single argument into the two of the constructor. */
export function splitFields(fields: EncryptedVectorStoreFields): {
  embeddings: EmbeddingsInput;
  args: EncryptedVectorStoreArgs;
} {
  if (typeof fields !== "object" || fields === null) {
    throw invalid(`store: expected embeddings and options, got ${typeName(fields)}`);
  }
  const { embeddings, ...args } = fields;
  return { embeddings, args };
}
