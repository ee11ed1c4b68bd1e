/** The embedded index: checks what callers say, and hands clean values to one verb each. */

import { inspect } from "node:util";
import { fingerprint, parseIndexKey } from "../crypto/keys.js";
import { embedderByName } from "../embedding/built-in.js";
import type { Embedder } from "../embedding/embedder.js";
import { listCount } from "../engine/model.js";
import { SealdexError } from "../errors.js";
import { compileFilter, type Filter } from "../filter.js";
import { checkVectorShape, invalid, optionsOf, typeName } from "../check-input.js";
import type { Calls } from "../calls.js";
import type {
  BatchQuery,
  CallOptions,
  GetOptions,
  IndexDescription,
  IndexKey,
  ItemField,
  Item,
  ListIdsOptions,
  Match,
  MatchField,
  Selection,
  SingleQuery,
  StoredItem,
  TextQuery,
  TrainOptions,
  Vector,
  VectorIndex,
} from "../vector-index.js";
import type { AutomaticTraining } from "./automatic-training.js";
import type { Background } from "./background.js";
import { gc, gcAfterCommit } from "./gc.js";
import { compactAll, compactIfDue } from "./compact.js";
import { checkInteger } from "./definition.js";
import { deleteIds, deleteMatching } from "./delete.js";
import { listIds } from "./list-ids.js";
import { dimensionOf, type OpenIndex } from "./open-index.js";
import { checkIdText, copyVector, packItems } from "./pack-items.js";
import { type CheckedQuery, query } from "../search/query.js";
import { readItems } from "../search/read-items.js";
import type { Snapshot } from "../search/snapshot.js";
import { train } from "./train.js";
import { upsert } from "./upsert.js";

const topKMax = 10_000;
const batchMax = 1000;
const nListsMax = 65_536;
const itemFields: readonly ItemField[] = ["vector", "contents", "metadata"];
const allItemFields: readonly ItemField[] = [...itemFields, "decoded"];
const matchFields: readonly MatchField[] = ["distance", ...allItemFields];

export class EncryptedIndex implements VectorIndex {
  readonly indexName: string;
  readonly #index: OpenIndex;
  readonly #calls: Calls;
  readonly #background: Background;
  readonly #training: AutomaticTraining;

  /** `calls`, `background`, `training`: of the client that opened it. */
  constructor(index: OpenIndex, calls: Calls, background: Background, training: AutomaticTraining) {
    this.indexName = index.indexName;
    this.#index = index;
    this.#calls = calls;
    this.#background = background;
    this.#training = training;
  }

  async upsert(items: readonly Item[], options?: CallOptions): Promise<void> {
    const { signal } = optionsOf(options);
    const index = this.#index;
    await this.#calls.change(signal, async () => {
      const dimension = dimensionOf(index, await index.log.recent());
      const packing = packItems(items, {
        keys: index.keys,
        metric: index.config.metric,
        dimension,
        embedder: this.#embedder(),
      });
      const packed = await packing.catch(async (error: unknown) => {
        // What is known here may be behind: that the index was deleted is the better answer.
        await index.log.newest();
        throw error;
      });
      await compactIfDue(index, signal);
      signal?.throwIfAborted();
      const committed = await upsert(index, packed, signal);
      if (committed !== null) this.#training.afterWrite(index, committed);
      this.#collectIfDue();
    });
  }

  query(request: SingleQuery | TextQuery): Promise<Match[]>;
  query(request: BatchQuery): Promise<Match[][]>;
  async query(request: SingleQuery | TextQuery | BatchQuery): Promise<Match[] | Match[][]> {
    const asked: Partial<SingleQuery & TextQuery & BatchQuery> = optionsOf(request, "query");
    const { queryVector, queryVectors, queryContents } = asked;
    const given = (value: unknown) => value !== undefined && value !== null;
    const count = Number(given(queryVector)) + Number(given(queryVectors)) + Number(given(queryContents));
    if (count !== 1) {
      const names = Object.entries({ queryVector, queryVectors, queryContents })
        .filter(([, value]) => given(value))
        .map(([name]) => name);
      const came = count === 0 ? "none" : names.join(" and ");
      throw invalid(`query: expected one of queryVector, queryVectors and queryContents, got ${came}`);
    }
    const options = checkQuery(request);
    const { signal } = options;
    if (queryVectors !== undefined && queryVectors !== null) {
      if (!Array.isArray(queryVectors)) throw invalid("queryVectors: expected an array of vectors");
      if (queryVectors.length > batchMax) {
        throw invalid(`queryVectors: expected at most ${batchMax} vectors, got ${queryVectors.length}`);
      }
      return this.#calls.look(signal, () => this.#search(queryVectors, (i) => `queryVectors[${i}]`, options));
    }
    return this.#calls.look(signal, async () => {
      const vector = queryVector ?? (await this.#embedQuery(queryContents));
      const [matches] = await this.#search([vector], () => "queryVector", options);
      return matches;
    });
  }

  async get(ids: readonly string[], options?: GetOptions): Promise<StoredItem[]> {
    checkIds(ids, "ids");
    const { include: given, signal } = optionsOf(options);
    const asked = checkInclude(given ?? itemFields, allItemFields);
    const fingerprints = ids.map((id) => fingerprint(this.#index.keys.id, id));
    const work = async (snapshot: Snapshot) => {
      const vectors = keepsVectors(snapshot);
      if (given !== undefined && !vectors) checkWithoutVectors(this.#index, asked);
      const include = vectors ? asked : new Set([...asked].filter((field) => field !== "vector"));
      const places = await snapshot.find(fingerprints);
      return readItems(
        places.filter((place) => place !== null),
        include,
      );
    };
    return this.#calls.look(signal, () => this.#index.snapshots.read(work));
  }

  async delete(selection: Selection, options?: CallOptions): Promise<void> {
    const { signal } = optionsOf(options);
    const { ids, filter } = (selection ?? {}) as { ids?: readonly string[]; filter?: Filter };
    if ((ids === undefined) === (filter === undefined)) {
      throw invalid(`delete: expected either ids or filter, got ${ids === undefined ? "neither" : "both"}`);
    }
    if (ids !== undefined) checkIds(ids, "ids");
    const compiled = filter === undefined ? undefined : compileFilter(filter);
    const index = this.#index;
    await this.#calls.change(signal, async () => {
      await compactIfDue(index, signal);
      signal?.throwIfAborted();
      if (compiled !== undefined) await deleteMatching(index, compiled, signal);
      else await deleteIds(index, ids ?? [], signal);
      this.#collectIfDue();
    });
  }

  async listIds(options?: ListIdsOptions): Promise<string[]> {
    const { limit = Number.MAX_SAFE_INTEGER, after, signal } = optionsOf(options);
    checkInteger(limit, 0, Number.MAX_SAFE_INTEGER, "limit");
    if (after !== undefined) checkIdText(after, "after");
    return this.#calls.look(signal, () => listIds(this.#index, limit, after, signal));
  }

  async count(options?: CallOptions): Promise<number> {
    const { signal } = optionsOf(options);
    return this.#calls.look(signal, () => this.#index.snapshots.read((snapshot) => snapshot.count()));
  }

  async train(options?: TrainOptions): Promise<void> {
    const { nLists, onProgress, signal } = optionsOf(options);
    if (nLists !== undefined) checkInteger(nLists, 1, nListsMax, "nLists");
    if (onProgress !== undefined && typeof onProgress !== "function") {
      throw invalid(`onProgress: expected a function, got ${typeName(onProgress)}`);
    }
    await this.#calls.change(signal, async () => {
      await train(this.#index, { nLists, onProgress, signal });
      this.#training.forgetFailure(this.#index);
      this.#collectIfDue();
    });
  }

  async compact(options?: CallOptions): Promise<void> {
    const { signal } = optionsOf(options);
    await this.#calls.change(signal, async () => {
      await compactAll(this.#index, signal);
      await gc(this.#index, signal === undefined ? {} : { signal });
    });
  }

  async rotateKey(newKey: IndexKey, options?: CallOptions): Promise<void> {
    const { signal } = optionsOf(options);
    const key = parseIndexKey(newKey);
    await this.#calls.change(signal, async () => {
      signal?.throwIfAborted();
      await this.#index.access.rotate(key);
    });
  }

  async describe(options?: CallOptions): Promise<IndexDescription> {
    const { signal } = optionsOf(options);
    return this.#calls.look(signal, () => this.#describe());
  }

  async #describe(): Promise<IndexDescription> {
    const { config, embeddingModel } = this.#index;
    const { manifest, model } = await this.#index.snapshots.read(async (snapshot) => snapshot);
    const dimension = dimensionOf(this.#index, manifest);
    const trainingFailure = this.#training.failure(this.#index);
    return {
      indexName: this.indexName,
      type: config.type,
      metric: config.metric,
      ...(dimension !== undefined && { dimension }),
      nLists: model === undefined ? 1 : listCount(model),
      ...(config.pqDim !== undefined && { pqDim: config.pqDim, pqBits: config.pqBits }),
      trained: model !== undefined,
      ...(embeddingModel !== undefined && { embeddingModel }),
      memory: this.#index.searcher.memory(),
      ...(trainingFailure !== undefined && { trainingFailure }),
    };
  }

  [inspect.custom](): string {
    return `EncryptedIndex(${JSON.stringify(this.indexName)})`;
  }

  /** The writer whose commit put manifests out of use deletes them, after its write and without failing it. */
  #collectIfDue(): void {
    const index = this.#index;
    if (index.log.takeRaised()) this.#background.start((signal) => gcAfterCommit(index, signal));
  }

  #embedder(): Embedder | undefined {
    const { embeddingModel } = this.#index;
    return embeddingModel === undefined ? undefined : embedderByName(embeddingModel);
  }

  async #embedQuery(queryContents: unknown): Promise<Vector> {
    const embedder = this.#embedder();
    if (embedder === undefined) {
      throw invalid(
        "queryContents: expected an index with an embedding model; this one has none, give queryVector",
      );
    }
    if (typeof queryContents !== "string") {
      throw invalid(`queryContents: expected a string, got ${typeof queryContents}`);
    }
    return embedder.embedQuery(queryContents);
  }

  async #search(
    vectors: readonly Vector[],
    where: (i: number) => string,
    options: CheckedQuery,
  ): Promise<Match[][]> {
    // Not forEach, which passes over the holes of a sparse array.
    for (const [i, vector] of vectors.entries()) checkVectorShape(vector, where(i));
    return this.#index.snapshots.read(async (snapshot) => {
      const dimension = dimensionOf(this.#index, snapshot.manifest);
      // No vector has been stored yet, so any dimension may ask and nothing is near.
      if (dimension === undefined) return vectors.map(() => []);
      const packed = new Float32Array(vectors.length * dimension);
      vectors.forEach((vector, i) => {
        const to = packed.subarray(i * dimension, (i + 1) * dimension);
        copyVector(vector, to, this.#index.config.metric, where(i));
      });
      if (!keepsVectors(snapshot)) checkWithoutVectors(this.#index, options.include);
      return query(this.#index.searcher, snapshot, packed, dimension, options);
    });
  }
}

/** Whether the vectors of items are there to be given back. */
function keepsVectors({ model }: Snapshot): boolean {
  return model?.quantizer === undefined;
}

function checkWithoutVectors({ config }: OpenIndex, include: ReadonlySet<MatchField>): void {
  if (!include.has("vector")) return;
  throw new SealdexError(
    "not_supported",
    `include: a trained index of type ${config.type} keeps codes and no vectors`,
  );
}

function checkQuery(request: SingleQuery | TextQuery | BatchQuery): CheckedQuery {
  const { topK = 100, nProbes = 1, greedy = false, filters, include = ["distance"], signal } = request;
  checkInteger(topK, 0, topKMax, "topK");
  checkInteger(nProbes, 0, Number.MAX_SAFE_INTEGER, "nProbes");
  if (typeof greedy !== "boolean") throw invalid(`greedy: expected a boolean, got ${typeof greedy}`);
  const filter = filters === undefined || filters === null ? undefined : compileFilter(filters);
  return {
    topK,
    nProbes,
    greedy,
    include: checkInclude(include, matchFields),
    ...(filter && { filter }),
    ...(signal && { signal }),
  };
}

function checkInclude<F extends string>(include: readonly F[], allowed: readonly F[]): ReadonlySet<F> {
  if (!Array.isArray(include)) throw invalid("include: expected an array");
  for (const field of include) {
    if (!allowed.includes(field)) {
      const received = typeof field === "string" ? JSON.stringify(field.slice(0, 100)) : typeName(field);
      throw invalid(`include: expected ${allowed.join(", ")}, got ${received}`);
    }
  }
  return new Set(include);
}

function checkIds(ids: unknown, where: string): asserts ids is readonly string[] {
  if (!Array.isArray(ids)) throw invalid(`${where}: expected an array of ids`);
  for (const [i, id] of ids.entries()) checkIdText(id, `${where}[${i}]`);
}
