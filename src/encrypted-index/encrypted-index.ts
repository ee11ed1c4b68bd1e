/** The embedded index: checks what callers say, and hands clean values to one verb each. */

import { inspect } from "node:util";
import { fingerprint } from "../crypto/keys.js";
import { type Embedder, embedderByName } from "../embedder.js";
import { listCount } from "../engine/model.js";
import { SealdexError } from "../errors.js";
import { compileFilter, type Filter } from "../filter.js";
import { checkVectorShape, invalid } from "../given-values.js";
import type {
  BatchQuery,
  IndexDescription,
  ItemField,
  Item,
  Match,
  MatchField,
  SingleQuery,
  StoredItem,
  TextQuery,
  Vector,
  VectorIndex,
} from "../vector-index.js";
import { compactIfDue } from "./compact.js";
import { checkInteger } from "./definition.js";
import { deleteIds, deleteMatching } from "./delete.js";
import { listIds } from "./list-ids.js";
import type { OpenIndex } from "./open-index.js";
import { checkIdText, copyVector, packItems } from "./pack-items.js";
import { type CheckedQuery, query } from "./query.js";
import { readItems } from "./read-items.js";
import type { Snapshot } from "./snapshot.js";
import { train } from "./train.js";
import { upsert } from "./upsert.js";

const topKMax = 10_000;
const batchMax = 1000;
const nListsMax = 65_536;
const itemFields: readonly ItemField[] = ["vector", "contents", "metadata"];
const matchFields: readonly MatchField[] = ["distance", ...itemFields];

export class EncryptedIndex implements VectorIndex {
  readonly indexName: string;
  readonly #index: OpenIndex;

  constructor(index: OpenIndex) {
    this.indexName = index.indexName;
    this.#index = index;
  }

  async upsert(items: readonly Item[]): Promise<void> {
    const index = this.#index;
    const dimension = index.dimension(await index.log.newest());
    const packed = await packItems(items, index.keys, dimension, this.#embedder());
    await compactIfDue(index);
    await upsert(index, packed);
  }

  query(request: SingleQuery | TextQuery): Promise<Match[]>;
  query(request: BatchQuery): Promise<Match[][]>;
  async query(request: SingleQuery | TextQuery | BatchQuery): Promise<Match[] | Match[][]> {
    if (typeof request !== "object" || request === null) throw invalid("query: expected an object");
    const { queryVector, queryVectors, queryContents } = request as Partial<
      SingleQuery & TextQuery & BatchQuery
    >;
    const given = Object.entries({ queryVector, queryVectors, queryContents })
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name]) => name);
    if (given.length !== 1) {
      const came = given.length === 0 ? "none" : given.join(" and ");
      throw invalid(`query: expected one of queryVector, queryVectors and queryContents, got ${came}`);
    }
    const options = checkQuery(request);
    if (queryVectors !== undefined && queryVectors !== null) {
      if (!Array.isArray(queryVectors)) throw invalid("queryVectors: expected an array of vectors");
      if (queryVectors.length > batchMax) {
        throw invalid(`queryVectors: expected at most ${batchMax} vectors, got ${queryVectors.length}`);
      }
      return this.#search(queryVectors, (i) => `queryVectors[${i}]`, options);
    }
    const vector = queryVector ?? (await this.#embedQuery(queryContents));
    const [matches] = await this.#search([vector], () => "queryVector", options);
    return matches;
  }

  async get(
    ids: readonly string[],
    options?: { readonly include?: readonly ItemField[] },
  ): Promise<StoredItem[]> {
    checkIds(ids, "ids");
    const given = options?.include;
    const asked = checkInclude(given ?? itemFields, itemFields);
    const index = this.#index;
    const snapshot = await index.snapshot();
    const vectors = keepsVectors(snapshot);
    if (given !== undefined && !vectors) checkWithoutVectors(index, asked);
    const include = vectors ? asked : new Set([...asked].filter((field) => field !== "vector"));
    const places = await snapshot.find(ids.map((id) => fingerprint(index.keys.id, id)));
    return readItems(
      places.filter((place) => place !== null),
      include,
    );
  }

  async delete(selection: { readonly ids: readonly string[] } | { readonly filter: Filter }): Promise<void> {
    const { ids, filter } = (selection ?? {}) as { ids?: readonly string[]; filter?: Filter };
    if ((ids === undefined) === (filter === undefined)) {
      throw invalid(`delete: expected either ids or filter, got ${ids === undefined ? "neither" : "both"}`);
    }
    if (ids !== undefined) checkIds(ids, "ids");
    const matches = filter === undefined ? undefined : compileFilter(filter);
    await compactIfDue(this.#index);
    if (matches !== undefined) await deleteMatching(this.#index, matches);
    else await deleteIds(this.#index, ids ?? []);
  }

  async listIds(options?: { readonly limit?: number; readonly after?: string }): Promise<string[]> {
    const { limit = Number.MAX_SAFE_INTEGER, after } = options ?? {};
    checkInteger(limit, 0, Number.MAX_SAFE_INTEGER, "limit");
    if (after !== undefined) checkIdText(after, "after");
    return listIds(this.#index, limit, after);
  }

  async count(): Promise<number> {
    return (await this.#index.snapshot()).count();
  }

  async train(options?: { readonly nLists?: number }): Promise<void> {
    const nLists = options?.nLists;
    if (nLists !== undefined) checkInteger(nLists, 1, nListsMax, "nLists");
    await train(this.#index, nLists);
  }

  async describe(): Promise<IndexDescription> {
    const { config, embeddingModel } = this.#index;
    const { manifest, model } = await this.#index.snapshot();
    const dimension = this.#index.dimension(manifest);
    return {
      indexName: this.indexName,
      type: config.type,
      metric: config.metric,
      ...(dimension !== undefined && { dimension }),
      nLists: model === undefined ? 1 : listCount(model),
      ...(config.pqDim !== undefined && { pqDim: config.pqDim, pqBits: config.pqBits }),
      trained: model !== undefined,
      ...(embeddingModel !== undefined && { embeddingModel }),
    };
  }

  [inspect.custom](): string {
    return `EncryptedIndex(${JSON.stringify(this.indexName)})`;
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
    vectors.forEach((vector, i) => checkVectorShape(vector, where(i)));
    const snapshot = await this.#index.snapshot();
    const dimension = this.#index.dimension(snapshot.manifest);
    // No vector has been stored yet, so any dimension may ask and nothing is near.
    if (dimension === undefined) return vectors.map(() => []);
    const packed = new Float32Array(vectors.length * dimension);
    vectors.forEach((vector, i) => copyVector(vector, packed, i * dimension, dimension, where(i)));
    if (!keepsVectors(snapshot)) checkWithoutVectors(this.#index, options.include);
    return query(this.#index, snapshot, packed, dimension, options);
  }
}

/** Whether the vectors of items are there to be given back. */
function keepsVectors({ model }: Snapshot): boolean {
  return model?.coder === undefined;
}

function checkWithoutVectors({ config }: OpenIndex, include: ReadonlySet<MatchField>): void {
  if (!include.has("vector")) return;
  throw new SealdexError(
    "not_supported",
    `include: a trained index of type ${config.type} keeps codes and no vectors`,
  );
}

function checkQuery(request: SingleQuery | TextQuery | BatchQuery): CheckedQuery {
  const { topK = 100, nProbes = 1, greedy = false, filters, include = ["distance"] } = request;
  checkInteger(topK, 0, topKMax, "topK");
  checkInteger(nProbes, 0, Number.MAX_SAFE_INTEGER, "nProbes");
  if (typeof greedy !== "boolean") throw invalid(`greedy: expected a boolean, got ${typeof greedy}`);
  const matches = filters === undefined || filters === null ? undefined : compileFilter(filters);
  return { topK, nProbes, greedy, include: checkInclude(include, matchFields), ...(matches && { matches }) };
}

function checkInclude<F extends string>(include: readonly F[], allowed: readonly F[]): ReadonlySet<F> {
  if (!Array.isArray(include)) throw invalid("include: expected an array");
  for (const field of include) {
    if (!allowed.includes(field)) {
      throw invalid(`include: expected ${allowed.join(", ")}, got ${JSON.stringify(field)}`);
    }
  }
  return new Set(include);
}

function checkIds(ids: unknown, where: string): asserts ids is readonly string[] {
  if (!Array.isArray(ids)) throw invalid(`${where}: expected an array of ids`);
  ids.forEach((id, i) => checkIdText(id, `${where}[${i}]`));
}
