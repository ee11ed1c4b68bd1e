/** Queries by words, or by words and meaning. */

import { checkVectorShape, invalid, typeName } from "../check-input.js";
import { type Image, isImage } from "../embedding/image.js";
import { distanceOf } from "../engine/metric.js";
import { methodOptions } from "../method-options.js";
import { checkOptions } from "../option-names.js";
import { type CheckedQuery, nearest } from "../search/query.js";
import { readItems } from "../search/read-items.js";
import { searchText, type FoundByText } from "../search/search-text.js";
import type { RowRef, Snapshot } from "../search/snapshot.js";
import { fuse, type Fusion } from "../text/fusion.js";
import { parseTextQuery, type TextQuery } from "../text/text-query.js";
import type { ItemField, QueryOptions, ScoredMatch, Vector, WordQuery } from "../vector-index.js";
import { embedQuery, type Texts } from "./answer-query.js";
import { checkQueryOptions } from "./check-request.js";
import { checkWithoutVectors, keepsVectors } from "./kept-fields.js";
import { dimensionOf, type IndexWords, type OpenIndex } from "./open-index.js";
import { copyVector } from "./pack-items.js";

export interface CheckedWordQuery {
  readonly text: string;
  /** What the vector side compares with; undefined: words alone. */
  readonly meaning: { readonly vector: Vector } | { readonly contents: string | Image } | undefined;
  readonly fusion: Fusion;
  readonly options: CheckedQuery;
}

/** Rows of one query, best first. */
interface Ranked {
  readonly rows: readonly RowRef[];
  readonly scores: readonly number[];
  /** Undefined for those that the vector did not find. */
  readonly distances: readonly (number | undefined)[];
}

/** Rows that each side finds for a query by both, at least. */
const candidatesMin = 100;
const textLengthMax = 65_536;

export function isWordQuery(request: QueryOptions): request is WordQuery {
  const { queryText } = (request ?? {}) as Partial<WordQuery>;
  return queryText !== undefined && queryText !== null;
}

/** Throws `invalid_request` or `dimension_mismatch`. */
export function checkWordQuery(request: WordQuery): CheckedWordQuery {
  checkOptions(request, methodOptions.query);
  const { queryText: text, queryVector: vector, queryContents: contents, queryVectors, fusion } = request;
  if (typeof text !== "string") throw invalid(`queryText: expected a string, got ${typeName(text)}`);
  if (text.length > textLengthMax) {
    throw invalid(`queryText: expected at most ${textLengthMax} characters, got ${text.length}`);
  }
  if (queryVectors !== undefined || ("rerank" in request && request.rerank !== undefined)) {
    throw invalid("queryText: expected none of queryVectors and rerank");
  }
  const checked = { text, fusion: checkFusion(fusion), options: checkQueryOptions(request) };
  if (vector !== undefined && contents !== undefined) {
    throw invalid("query: expected one of queryVector and queryContents");
  }
  if (vector !== undefined) {
    checkVectorShape(vector, "queryVector");
    return { ...checked, meaning: { vector } };
  }
  if (contents === undefined) return { ...checked, meaning: undefined };
  if (typeof contents === "string" || isImage(contents)) return { ...checked, meaning: { contents } };
  throw invalid(`queryContents: expected a string or an image, got ${typeName(contents)}`);
}

const fusionMethods: readonly unknown[] = ["automatic", "rank", "scores"];
const rankMax = 10_000;

function checkFusion(fusion: Fusion = { method: "automatic" }): Fusion {
  if (typeof fusion !== "object" || fusion === null || !fusionMethods.includes(fusion.method)) {
    throw invalid("fusion: expected an object whose method is automatic, rank or scores");
  }
  const { alpha = 0, k = 0, method, ...others } = { alpha: undefined, k: undefined, ...fusion };
  const isShare = typeof alpha === "number" && alpha >= 0 && alpha <= 1;
  if (!isShare) throw invalid("fusion.alpha: expected a number from 0 to 1");
  const isRank = typeof k === "number" && k >= 0 && k <= rankMax;
  if (!isRank) throw invalid(`fusion.k: expected a number from 0 to ${rankMax}`);
  const taken = { automatic: 1, scores: 2, rank: 3 }[method];
  if (Object.keys(fusion).length > taken || Object.keys(others).length > 0) {
    throw invalid(`fusion: expected no property that the method ${method} does not take`);
  }
  return { ...fusion };
}

export async function answerWords(
  index: OpenIndex,
  texts: Texts,
  { text, meaning, fusion, options }: CheckedWordQuery,
): Promise<ScoredMatch[]> {
  const { words } = index;
  if (words === undefined) throw invalid("queryText: expected an index that was created with a textIndex");
  const query = parseTextQuery(text, words.analyzer);
  const vector =
    meaning && ("vector" in meaning ? meaning.vector : await embedQuery(index, texts, meaning.contents));
  return index.snapshots.read(async (snapshot) => {
    if (!keepsVectors(snapshot)) checkWithoutVectors(index, options.include);
    const byWords = (topK: number) => searchByWords(words, snapshot, query, { ...options, topK });
    if (vector === undefined) {
      const { rows, scores } = await byWords(options.topK);
      return toMatches({ rows, scores, distances: [] }, options);
    }
    const topK = options.topK === 0 ? 0 : Math.max(candidatesMin, options.topK);
    const byVector = await searchByVector(index, snapshot, vector, { ...options, topK });
    return toMatches(fused(snapshot, await byWords(topK), byVector, fusion), options);
  });
}

function searchByWords(
  { definition }: IndexWords,
  snapshot: Snapshot,
  query: TextQuery,
  { topK, filter, signal }: CheckedQuery,
): Promise<FoundByText> {
  return searchText(snapshot, { query, parameters: definition, topK, filter, signal });
}

async function searchByVector(
  index: OpenIndex,
  snapshot: Snapshot,
  vector: Vector,
  options: CheckedQuery,
): Promise<Ranked> {
  const { metric } = index.config;
  const dimension = dimensionOf(index, snapshot.manifest) ?? vector.length;
  const packed = new Float32Array(dimension);
  copyVector(vector, packed, metric, "queryVector");
  const { candidates, rows } = await nearest(index.searcher, snapshot, packed, options);
  const distances = candidates.map(({ score }) => distanceOf(metric, score));
  return { rows, scores: distances.map((distance) => -distance), distances };
}

/** Both lists as one. */
function fused(snapshot: Snapshot, words: FoundByText, vectors: Ranked, fusion: Fusion): Ranked {
  const firsts = new Map<RowRef["segment"], number>();
  let count = 0;
  for (const segment of snapshot.segments) {
    firsts.set(segment, count);
    count += segment.reader.footer.rows;
  }
  const numberOf = ({ segment, row }: RowRef) => (firsts.get(segment) ?? 0) + row;
  const refs = new Map<number, { readonly ref: RowRef; readonly distance: number | undefined }>();
  words.rows.forEach((ref) => refs.set(numberOf(ref), { ref, distance: undefined }));
  vectors.rows.forEach((ref, i) => refs.set(numberOf(ref), { ref, distance: vectors.distances[i] }));
  const one = { rows: words.rows.map(numberOf), scores: words.scores };
  const other = { rows: vectors.rows.map(numberOf), scores: vectors.scores };
  const rows: RowRef[] = [];
  const scores: number[] = [];
  const distances: (number | undefined)[] = [];
  for (const { row, score } of fuse(one, other, fusion)) {
    const found = refs.get(row);
    if (found === undefined) continue;
    rows.push(found.ref);
    scores.push(score);
    distances.push(found.distance);
  }
  return { rows, scores, distances };
}

async function toMatches({ rows, scores, distances }: Ranked, options: CheckedQuery): Promise<ScoredMatch[]> {
  const { include, topK } = options;
  const fields = new Set([...include].filter((field): field is ItemField => field !== "distance"));
  const items = await readItems(rows.slice(0, topK), fields, options);
  return items.map((item, i) => {
    const distance = include.has("distance") ? distances[i] : undefined;
    return Object.assign(item, { score: scores[i] }, distance !== undefined && { distance });
  });
}
