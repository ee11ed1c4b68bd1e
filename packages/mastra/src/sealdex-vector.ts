/** `SealdexVector`: encrypted indexes as a vector store of Mastra. */

import { randomUUID } from "node:crypto";
import { ErrorCategory, ErrorDomain, MastraError } from "@mastra/core/error";
import { createVectorErrorId } from "@mastra/core/storage";
import {
  type CreateIndexParams,
  type DeleteIndexParams,
  type DeleteVectorParams,
  type DeleteVectorsParams,
  type DescribeIndexParams,
  type IndexStats,
  MastraVector,
  type QueryResult,
  type QueryVectorParams,
  type UpdateVectorParams,
  type UpsertVectorParams,
  validateTopK,
  validateUpsertInput,
} from "@mastra/core/vector";
import {
  type Client,
  createClient,
  type EmbeddedClientOptions,
  type HttpClientOptions,
  type IndexKey,
  type Metadata,
  type Metric,
  SealdexError,
  type StoredItem,
  type VectorIndex,
} from "sealdex/core";
import { translateFilter } from "./translate-filter.js";

/** The name of the store in Mastra, the key, and the options of `createClient`: locations or a service. */
export type SealdexVectorConfig = (EmbeddedClientOptions | HttpClientOptions) & {
  readonly id: string;
  /** Opens every index of the store. A key provider wraps a random key for each. */
  readonly indexKey: IndexKey;
};

type Opened = { readonly index: VectorIndex; readonly metric: Metric };
type Work<T> = (index: VectorIndex, metric: Metric) => Promise<T>;
type Update = UpdateVectorParams["update"];
type Whole = StoredItem<readonly ["contents", "metadata"]>;

/** Codes of failures that the caller causes; the others are the storage's. */
const ofCaller =
  /^(invalid_request|dimension_mismatch|unauthenticated|forbidden|not_found|already_exists|too_large|wrong_index_key|not_supported)$/;

/**
 * A vector store of Mastra whose vectors, ids and metadata are encrypted. Every method rejects with a
 * `MastraError`. Its cause is a `SealdexError`, except where Mastra's own checks refuse `topK`, the numbers of vectors,
 * ids and metadata, or another dimension of an existing index. The store lists every index of its location.
 */
export class SealdexVector extends MastraVector {
  readonly #client: Client;
  readonly #indexKey: IndexKey;
  readonly #opened = new Map<string, Promise<Opened>>();

  constructor({ id, indexKey, ...options }: SealdexVectorConfig) {
    super({ id });
    this.#client = createClient(options as EmbeddedClientOptions);
    this.#indexKey = indexKey instanceof Uint8Array ? indexKey.slice() : indexKey;
  }

  /**
   * Creates an index for vectors of this dimension. One that exists is kept if it has the same
   * dimension. `dotproduct` is refused: for normalized vectors, `cosine` gives the same order.
   */
  async createIndex({ indexName, dimension, metric = "cosine" }: CreateIndexParams): Promise<void> {
    const isNew = await this.#run("CREATE_INDEX", indexName, async () => {
      if (metric === "dotproduct")
        throw unsupported('metric: "dotproduct" is not supported; use "cosine" with normalized vectors');
      // The first vector would decide it, and the next call refuse what this one made.
      if ((dimension as number | undefined) === undefined)
        throw new SealdexError("invalid_request", "dimension: expected an integer from 1 to 8192, got none");
      const indexConfig = { type: "ivfflat", dimension } as const;
      try {
        await this.#client.createIndex({ indexName, indexKey: this.#indexKey, indexConfig, metric });
        return true;
      } catch (error) {
        if (isCode(error, "already_exists")) return false;
        throw error;
      }
    });
    if (!isNew) await this.validateExistingIndex(indexName, dimension, metric);
  }

  /** The names of all indexes of the location. */
  listIndexes(): Promise<string[]> {
    return this.#run("LIST_INDEXES", undefined, () => this.#client.listIndexes());
  }

  async describeIndex({ indexName }: DescribeIndexParams): Promise<IndexStats> {
    return this.#withIndex("DESCRIBE_INDEX", indexName, async (index) => {
      const { dimension = 0, metric } = await index.describe();
      return { dimension, count: await index.count(), ...(metric !== "squared_euclidean" && { metric }) };
    });
  }

  /** Deletes the index with all its vectors. An unknown name is ignored. */
  async deleteIndex({ indexName }: DeleteIndexParams): Promise<void> {
    this.#opened.delete(indexName);
    await this.#run("DELETE_INDEX", indexName, async () => {
      await this.#client.deleteIndex({ indexName, indexKey: this.#indexKey }).catch((error: unknown) => {
        if (!isCode(error, "not_found")) throw error;
      });
    });
  }

  /**
   * Stores vectors, replaces those with the same ids, and returns the ids. `deleteFilter` deletes the
   * others that match, in the same commit. Metadata are stored as `JSON.stringify` writes them.
   */
  async upsert(params: UpsertVectorParams): Promise<string[]> {
    const { indexName, vectors, metadata, ids, deleteFilter, sparseVectors } = params;
    validateUpsertInput("SEALDEX", vectors, metadata, ids);
    const own = ids ?? vectors.map(() => randomUUID());
    return this.#withIndex("UPSERT", indexName, async (index) => {
      if (sparseVectors !== undefined) throw unsupported("sparseVectors: Sealdex has none");
      const items = vectors.map((vector, i) => ({
        id: own[i] ?? "",
        vector,
        metadata: storable(metadata?.[i]),
      }));
      await index.upsert(items, { deleteFilter: translateFilter(deleteFilter) });
      return [...own];
    });
  }

  /**
   * The nearest vectors, best first. The score is `1 - distance` for `cosine`, and
   * `1 / (1 + distance)` for `euclidean`. Without `queryVector`, vectors that match the filter, in
   * the order of their ids and with the score 0.
   */
  async query(params: QueryVectorParams): Promise<QueryResult[]> {
    const { indexName, queryVector, topK = 10, filter, includeVector = false, sparseVector } = params;
    validateTopK("SEALDEX", topK);
    return this.#withIndex("QUERY", indexName, async (index, metric) => {
      if (sparseVector !== undefined) throw unsupported("sparseVector: Sealdex has none");
      const own = translateFilter(filter);
      const include = ["metadata", "contents", ...(includeVector ? (["vector"] as const) : [])] as const;
      if (queryVector === undefined) {
        if (own === undefined)
          throw new SealdexError("invalid_request", "query: expected queryVector or filter");
        const found: QueryResult[] = [];
        for await (const item of index.items({ filter: own, include, pageSize: Math.min(topK, 1000) })) {
          found.push(resultOf(item, 0));
          if (found.length === topK) break;
        }
        return found;
      }
      const wanted = [...include, "distance"] as const;
      // As many lists as the usual recall takes: the default is one.
      const matches = await index.query({ queryVector, topK, nProbes: 0, filter: own, include: wanted });
      return matches.map((match) => resultOf(match, scoreOf(metric, match.distance ?? 0)));
    });
  }

  /**
   * Changes the vectors with this id, or those that match the filter: `update.metadata` replaces all
   * metadata, `update.vector` the vector. Unknown ids are ignored. A new vector replaces the item that
   * was read before, so that changes by others in between are lost.
   */
  async updateVector({ indexName, id, filter, update }: UpdateVectorParams): Promise<void> {
    await this.#withIndex("UPDATE_VECTOR", indexName, async (index) => {
      // Callers in JavaScript may leave it out.
      if (update?.vector === undefined && update?.metadata === undefined)
        throw new SealdexError("invalid_request", "update: expected vector or metadata");
      const selection = selectionOf(id === undefined ? undefined : [id], translateFilter(filter));
      if (update.vector === undefined) {
        await index.update(selection, { metadata: storable(update.metadata), replace: true });
        return;
      }
      const include = ["contents", "metadata"] as const;
      const items: Whole[] = [];
      if (selection.ids !== undefined) items.push(...(await index.get(selection.ids, { include })));
      else for await (const item of index.items({ ...selection, include })) items.push(item);
      await replaceVectors(index, items, update);
    });
  }

  /** Deletes one vector. An unknown id is ignored. */
  async deleteVector({ indexName, id }: DeleteVectorParams): Promise<void> {
    await this.#withIndex("DELETE_VECTOR", indexName, (index) => index.delete({ ids: [id] }));
  }

  /** Deletes the vectors with these ids, or those that match the filter. */
  async deleteVectors({ indexName, ids, filter }: DeleteVectorsParams): Promise<void> {
    await this.#withIndex("DELETE_VECTORS", indexName, (index) =>
      index.delete(selectionOf(ids, translateFilter(filter))),
    );
  }

  /** Releases the storage. The store is of no use afterwards. */
  async close(): Promise<void> {
    this.#opened.clear();
    await this.#client[Symbol.asyncDispose]();
  }

  #open(indexName: string): Promise<Opened> {
    const known = this.#opened.get(indexName);
    if (known !== undefined) return known;
    const load = async () => {
      const index = await this.#client.loadIndex({ indexName, indexKey: this.#indexKey });
      return { index, metric: (await index.describe()).metric };
    };
    const opened = load();
    this.#opened.set(indexName, opened);
    opened.catch(() => this.#opened.delete(indexName));
    return opened;
  }

  /** Opens an index once, and again if another process has deleted it, since it may have made a new one. */
  #withIndex<T>(operation: string, indexName: string, work: Work<T>): Promise<T> {
    const attempt = async () => {
      const { index, metric } = await this.#open(indexName);
      return work(index, metric);
    };
    return this.#run(operation, indexName, async () => {
      const wasOpen = this.#opened.has(indexName);
      return attempt().catch((error: unknown) => {
        if (!wasOpen || !isCode(error, "not_found")) throw error;
        this.#opened.delete(indexName);
        return attempt();
      });
    });
  }

  /** Failures in Mastra's terms. Neither filters nor ids are among the details: Mastra logs those. */
  async #run<T>(operation: string, indexName: string | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const isCallers = error instanceof SealdexError && ofCaller.test(error.code);
      throw new MastraError(
        {
          id: createVectorErrorId("SEALDEX", operation, "FAILED"),
          domain: ErrorDomain.MASTRA_VECTOR,
          category: isCallers ? ErrorCategory.USER : ErrorCategory.THIRD_PARTY,
          details: { ...(indexName !== undefined && { indexName }) },
        },
        error,
      );
    }
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof SealdexError && error.code === code;
}

function unsupported(message: string): SealdexError {
  return new SealdexError("not_supported", message);
}

/** Dates become texts, and undefined fields are left out, as in Mastra's other stores. */
function storable(metadata: Metadata | undefined): Metadata {
  try {
    return JSON.parse(JSON.stringify(metadata ?? {})) as Metadata;
  } catch {
    // Its own message names fields.
    throw new SealdexError(
      "invalid_request",
      "metadata: expected JSON values, no bigint, cycle or deep nesting",
    );
  }
}

function selectionOf(ids: readonly string[] | undefined, filter: ReturnType<typeof translateFilter>) {
  if (ids !== undefined && filter === undefined && ids.length > 0) return { ids };
  if (ids === undefined && filter !== undefined) return { filter };
  throw new SealdexError("invalid_request", "expected ids or a filter, one of them and not empty");
}

/** Replaces the vectors of whole items, each in its own namespace. */
async function replaceVectors(index: VectorIndex, items: readonly Whole[], update: Update): Promise<void> {
  const { vector = [], metadata } = update;
  const groups = Map.groupBy(items, ({ namespace }) => namespace);
  for (const [namespace, group] of groups) {
    const replaced = group.map((item) => ({
      id: item.id,
      vector,
      metadata: metadata === undefined ? item.metadata : storable(metadata),
      ...(item.contents !== undefined && { contents: item.contents }),
      ...(item.expiresAt && { expiresAt: item.expiresAt }),
    }));
    await index.upsert(replaced, { namespace });
  }
}

function resultOf({ id, metadata = {}, contents, vector }: StoredItem, score: number): QueryResult {
  return {
    id,
    score,
    metadata: { ...metadata },
    ...(vector && { vector: [...vector] }),
    ...(contents !== undefined && { document: contents }),
  };
}

/** As the pgvector store of Mastra scores. */
function scoreOf(metric: Metric, distance: number): number {
  if (metric === "cosine") return 1 - distance;
  return 1 / (1 + (metric === "euclidean" ? distance : Math.sqrt(distance)));
}
