/** Checks the requests to an embedded index, and fills in every default. */

import { checkOrder } from "../api/check-listing.js";
import {
  checkIdText,
  checkInteger,
  checkVectorShape,
  invalid,
  onlySubjectOf,
  typeName,
} from "../checks/input.js";
import { type Image, isImage, takeImage } from "../embedding/image.js";
import { type CompiledFilter, compileFilter, type Filter, splitPath } from "../api/filter/compile.js";
import type { CheckedQuery } from "../query/query.js";
import type { Effort } from "../query/list-limits.js";
import { checkInclude, itemFieldNames } from "../api/method-options.js";
import { checkRecall, type ProbingOptions } from "../api/effort.js";
import type { ResultSettings } from "../api/served-index.js";
import { checkDeleteFilter, checkUpdateSelection, filterOf } from "../api/check-selection.js";
import type {
  BatchQuery,
  GetOptions,
  ItemField,
  ListIdsOptions,
  ListItemsOptions,
  MatchField,
  QueryOptions,
  SingleQuery,
  TextQuery,
  UpdateSelection,
  UpsertOptions,
  Vector,
} from "../api/vector-index.js";
import type { CheckedListIds } from "./listing/list-ids.js";
import type { CheckedListing } from "./listing/list-items.js";
import type { CheckedFields } from "./open/available-fields.js";
import type { UpdatedItems } from "./update.js";

const batchMax = 1000;
const defaultItemFields: readonly ItemField[] = ["vector", "contents", "metadata"];
const distanceAlone: ReadonlySet<MatchField> = new Set(["distance"] as const);
const matchFields: readonly MatchField[] = ["distance", ...itemFieldNames];

type QueryRequest = SingleQuery | TextQuery | BatchQuery;

/** The subject of a query, to which rows are compared. */
export type QuerySubject =
  | { readonly kind: "vector"; readonly vector: Vector }
  | { readonly kind: "vectors"; readonly vectors: readonly Vector[] }
  | { readonly kind: "contents"; readonly contents: string | Image };

/** `request`: of known options. Throws `invalid_request`, or `dimension_mismatch` for a vector whose length no index has. */
export function checkQuery(
  request: QueryRequest,
  results: ResultSettings,
): { subject: QuerySubject; checked: CheckedQuery } {
  if ("fusion" in request && request.fusion !== undefined) {
    throw invalid("fusion: expected a query with queryText, got one without");
  }
  return { subject: subjectOf(request), checked: checkQueryOptions(request, results) };
}

/** The options that queries of all kinds share. */
export function checkQueryOptions(request: QueryOptions, results: ResultSettings): CheckedQuery {
  const { topK = 100, include, signal } = request;
  checkInteger(topK, 0, Number.MAX_SAFE_INTEGER, "topK");
  const effort = checkEffort(request);
  // Field by field: spreading takes as long as all of these checks.
  return {
    topK,
    effort,
    include: include === undefined ? distanceAlone : fieldsOf(include),
    filter: compiledFilter(filterOf(request, "query")),
    allowPartialAfterMs: request.allowPartialAfterMs,
    signal,
    reserveBytes: results.reserveBytes,
    rawMetadata: results.rawMetadata,
  };
}

function fieldsOf(include: readonly MatchField[]): ReadonlySet<MatchField> {
  checkInclude(include, matchFields);
  return new Set(include);
}

function checkEffort(options: ProbingOptions): Effort {
  checkRecall(options);
  const { recall, nProbes = 1, greedy = false } = options;
  if (recall !== undefined) return recall === "exact" ? recall : { lists: undefined, recall };
  if (greedy) return "exact";
  return nProbes === 0 ? { lists: undefined, recall: undefined } : { lists: nProbes };
}

function subjectOf(request: QueryRequest): QuerySubject {
  const subjects = request as Partial<SingleQuery & TextQuery & BatchQuery>;
  const { queryVector, queryVectors, queryContents } = subjects;
  const subject = onlySubjectOf(subjects);
  if (subject === "queryContents") {
    if (typeof queryContents === "string" || isImage(queryContents))
      return { kind: "contents", contents: queryContents };
    throw invalid(`queryContents: expected a string or an image, got ${typeName(queryContents)}`);
  }
  if (subject === "queryVector") {
    checkVectorShape(queryVector, "queryVector");
    return { kind: "vector", vector: queryVector };
  }
  return { kind: "vectors", vectors: checkVectors(queryVectors, "queryVectors") };
}

/** Throws `invalid_request` for anything but vectors of queries. */
export function checkVectors(vectors: unknown, where: string): readonly Vector[] {
  if (!Array.isArray(vectors)) throw invalid(`${where}: expected an array of vectors`);
  if (vectors.length > batchMax) {
    throw invalid(`${where}: expected at most ${batchMax} vectors, got ${vectors.length}`);
  }
  // Not forEach, which passes over the holes of a sparse array.
  for (const [i, vector] of vectors.entries()) checkVectorShape(vector, `${where}[${i}]`);
  return vectors as Vector[];
}

export function takeContents(contents: string | Image): string | Image {
  return typeof contents === "string" ? contents : takeImage(contents);
}

/** The text of a query that is to be reranked. Throws `invalid_request` if it is no query by a text. */
export function checkRanked(subject: QuerySubject): string {
  if (subject.kind === "contents" && typeof subject.contents === "string") return subject.contents;
  throw invalid("rerank: requires queryContents to be a string");
}

export function checkFields({ include }: GetOptions, results: ResultSettings): CheckedFields {
  return {
    include: new Set(include ?? defaultItemFields),
    isIncludeGiven: include !== undefined,
    results,
  };
}

export function checkListIds(options: ListIdsOptions, { reserveBytes }: ResultSettings): CheckedListIds {
  const { limit = Number.MAX_SAFE_INTEGER, after, signal } = options;
  const filter = compiledFilter(options.filter);
  return { limit, after, filter, signal, reserveBytes };
}

const pageItems = 1000;

export function checkListing(
  options: Omit<ListItemsOptions, "orderBy">,
  results: ResultSettings,
  limit: number = pageItems,
): CheckedListing {
  const { filter, after, signal } = options;
  return {
    filter: compiledFilter(filter),
    limit,
    after,
    signal,
    ...checkFields(options, results),
  };
}

export function checkPage(options: ListItemsOptions, results: ResultSettings): CheckedListing {
  const { cursor, after, orderBy } = options;
  if (cursor !== undefined && after !== undefined) {
    throw invalid("listItems: expected either cursor or after, got both");
  }
  const listing = checkListing(options, results, options.limit);
  if (orderBy === undefined) return listing;
  if (after !== undefined)
    throw invalid("after: cannot be combined with orderBy; use the cursor of the previous page");
  const order = checkOrder(orderBy).map(([field, direction]) => ({
    path: splitPath(field, "orderBy"),
    isAscending: direction === "asc",
  }));
  return { ...listing, order };
}

export function checkUpsert({ deleteFilter, within, skipUnchanged = false, signal }: UpsertOptions) {
  return {
    deleteFilter: compiledFilter(checkDeleteFilter(deleteFilter)),
    within: compiledFilter(within),
    skipUnchanged,
    signal,
  };
}

/** Null counts as none. */
export function compiledFilter(filter: Filter | null | undefined): CompiledFilter | undefined {
  return filter === undefined || filter === null ? undefined : compileFilter(filter);
}

/** Which items to update. */
export function checkUpdated(selection: UpdateSelection): UpdatedItems {
  const { ids, filter } = checkUpdateSelection(selection);
  if (ids === undefined) return { ids, filter: compileFilter(filter ?? {}) };
  checkIds(ids, "ids");
  return { ids, filter: undefined };
}

export function checkIds(ids: unknown, where: string): asserts ids is readonly string[] {
  if (!Array.isArray(ids)) throw invalid(`${where}: expected an array of ids`);
  for (const [i, id] of ids.entries()) checkIdText(id, `${where}[${i}]`);
}
