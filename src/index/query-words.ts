/** Queries by words, or by words and meaning. */

import { checkVectorShape, invalid, isArray, typeName } from "../checks/input.js";
import { type Image, isImage, isImageUrl } from "../embedding/image.js";
import { distanceOf } from "../engine/metric.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import { type CheckedQuery, nearest } from "../query/query.js";
import { readItems, reservedAfter } from "../query/read-items.js";
import { type FoundByText, type RankedRows, searchText } from "../query/words/search-words.js";
import type { RowRef, Snapshot } from "../query/snapshot/snapshot.js";
import type { ResultSettings } from "../api/served-index.js";
import { fuse, type Fusion } from "../text/fusion.js";
import { highlights } from "../text/highlights.js";
import { parseTextQuery, type TextQuery } from "../text/text-query.js";
import { run, type Task, waitFor } from "../engine/threads/run.js";
import { isPauseDue } from "../async/event-loop.js";
import type {
  ItemField,
  MatchField,
  ScoredMatch,
  SideScores,
  Vector,
  WordQuery,
} from "../api/vector-index.js";
import { embedQuery, type Texts, withLearned } from "./query-vectors.js";
import { checkQueryOptions, takeContents } from "./check-request.js";
import { checkWithoutVectors, keepsVectors } from "./open/available-fields.js";
import { dimensionOf } from "./open/dimension.js";
import type { IndexWords } from "../text/define-text.js";
import type { OpenIndex } from "./open/open-index.js";
import { copyVector } from "./pack-items.js";

export interface CheckedWordQuery {
  readonly text: string;
  /** The vector to compare with; undefined: words alone. */
  readonly meaning: { readonly vector: Vector } | { readonly contents: string | Image } | undefined;
  readonly fusion: Fusion;
  readonly options: CheckedQuery;
  readonly includesScores: boolean;
  readonly includesHighlights: boolean;
}

/** One of the rows of a query. */
interface Ranked {
  readonly ref: RowRef;
  readonly score: number;
  readonly sides: SideScores;
}

/** Rows that each side finds for a query by both, at least. */
const candidatesMin = 100;
const textLengthMax = 65_536;

export function isWordQuery(request: object): request is WordQuery {
  const { queryText } = request as Partial<WordQuery>;
  return queryText !== undefined && queryText !== null;
}

/** `request`: of known options. Throws `invalid_request` or `dimension_mismatch`. */
export function checkWordQuery(request: WordQuery, results: ResultSettings): CheckedWordQuery {
  const { queryText: text, queryVector: vector, queryContents: contents, queryVectors, fusion } = request;
  if (typeof text !== "string") throw invalid(`queryText: expected a string, got ${typeName(text)}`);
  if (text.length > textLengthMax) {
    throw invalid(`queryText: expected at most ${textLengthMax} characters, got ${text.length}`);
  }
  if (queryVectors !== undefined || ("rerank" in request && request.rerank !== undefined)) {
    throw invalid("queryText: expected none of queryVectors and rerank");
  }
  const { include = ["distance"] } = request;
  if (!isArray(include)) throw invalid("include: expected an array");
  const fields = include.filter((field): field is MatchField => !sideFields.includes(field));
  const checked = {
    text,
    fusion: checkFusion(fusion),
    options: checkQueryOptions({ ...request, include: fields }, results),
    includesScores: include.includes("scores"),
    includesHighlights: include.includes("highlights"),
  };
  if (vector !== undefined && contents !== undefined) {
    throw invalid("query: expected one of queryVector and queryContents");
  }
  if (vector !== undefined) {
    checkVectorShape(vector, "queryVector");
    return { ...checked, meaning: { vector: vector.slice() } };
  }
  if (contents === undefined) return { ...checked, meaning: undefined };
  if (typeof contents === "string" || isImage(contents))
    return { ...checked, meaning: { contents: takeContents(contents) } };
  throw invalid(`queryContents: expected a string or an image, got ${typeName(contents)}`);
}

/** Returned fields that need no read of storage. */
const sideFields: readonly unknown[] = ["scores", "highlights"];
const rankMax = 10_000;

type FusionBy<M extends Fusion["method"]> = Extract<Fusion, { readonly method: M }>;
const fusionOptions = {
  automatic: optionNames<FusionBy<"automatic">>("fusion", { method: true }),
  rank: optionNames<FusionBy<"rank">>("fusion", { method: true, k: true, alpha: true }),
  scores: optionNames<FusionBy<"scores">>("fusion", { method: true, alpha: true }),
};

function checkFusion(fusion: Fusion = { method: "automatic" }): Fusion {
  if (typeof fusion !== "object" || !Object.keys(fusionOptions).includes(fusion?.method)) {
    throw invalid("fusion: expected an object whose method is automatic, rank or scores");
  }
  fusion = takeOptions(fusion, fusionOptions[fusion.method]);
  const { alpha = 0, k = 0 } = { alpha: undefined, k: undefined, ...fusion };
  const isShare = typeof alpha === "number" && alpha >= 0 && alpha <= 1;
  if (!isShare) throw invalid("fusion.alpha: expected a number from 0 to 1");
  const isRank = typeof k === "number" && k >= 0 && k <= rankMax;
  if (!isRank) throw invalid(`fusion.k: expected a number from 0 to ${rankMax}`);
  return { ...fusion };
}

export async function answerWords(
  index: OpenIndex,
  texts: Texts,
  checked: CheckedWordQuery,
): Promise<ScoredMatch[]> {
  const { words } = index;
  if (words === undefined)
    throw invalid("queryText: this index has no textIndex; create it with textIndex: true");
  const { text, meaning, options } = checked;
  const query = parseTextQuery(text, words.analyzer);
  const vector =
    meaning && ("vector" in meaning ? meaning.vector : await embedQuery(index, texts, meaning.contents));
  const read = index.snapshots.readAhead(function* (snapshot, confirm) {
    if (!keepsVectors(snapshot)) checkWithoutVectors(index, options.include);
    const byWords = (topK: number) =>
      searchText(snapshot, { ...options, query, parameters: words.definition, topK });
    const ranked =
      vector === undefined
        ? onlyWords(yield* waitFor(byWords(options.topK)))
        : yield* waitFor(byBoth(index, snapshot, { vector, byWords, checked }));
    return yield* toMatches(words, query, ranked, { ...checked, options: reservedAfter(confirm, options) });
  });
  return run(read, options.signal);
}

function onlyWords({ rows, scores }: RankedRows): Ranked[] {
  return rows.map((ref, i) => ({ ref, score: scores[i], sides: { words: scores[i] } }));
}

interface BothSides {
  readonly vector: Vector;
  byWords(topK: number): Promise<FoundByText>;
  readonly checked: CheckedWordQuery;
}

async function byBoth(
  index: OpenIndex,
  snapshot: Snapshot,
  { vector, byWords, checked: { fusion, options } }: BothSides,
): Promise<Ranked[]> {
  const topK = options.topK === 0 ? 0 : Math.max(candidatesMin, options.topK);
  const [nearby, words] = await Promise.all([
    searchByVector(index, snapshot, vector, { ...options, topK }),
    byWords(topK),
  ]);
  const vectors = only(nearby, words.allows);
  const firsts = new Map<RowRef["segment"], number>();
  let count = 0;
  for (const segment of snapshot.segments) {
    firsts.set(segment, count);
    count += segment.reader.footer.rows;
  }
  const numberOf = ({ segment, row }: RowRef) => (firsts.get(segment) ?? 0) + row;
  const found = new Map<number, Omit<Ranked, "score">>();
  words.rows.forEach((ref, i) => found.set(numberOf(ref), { ref, sides: { words: words.scores[i] } }));
  vectors.rows.forEach((ref, i) => {
    const sides = { ...found.get(numberOf(ref))?.sides, vectors: vectors.scores[i] };
    found.set(numberOf(ref), { ref, sides });
  });
  const ranked = fuse(
    { rows: words.rows.map(numberOf), scores: words.scores },
    { rows: vectors.rows.map(numberOf), scores: vectors.scores.map((distance) => -distance) },
    fusion,
    knowsMeaning(index.model?.name) ? "meaning" : "unknown",
  );
  return ranked.slice(0, options.topK).flatMap(({ row, score }) => {
    const one = found.get(row);
    return one === undefined ? [] : [{ ...one, score }];
  });
}

function only({ rows, scores }: RankedRows, allows: FoundByText["allows"]): RankedRows {
  const isAllowed = rows.map(allows);
  return { rows: rows.filter((_, i) => isAllowed[i]), scores: scores.filter((_, i) => isAllowed[i]) };
}

/** The nearest rows; their scores are distances. */
async function searchByVector(
  index: OpenIndex,
  snapshot: Snapshot,
  vector: Vector,
  options: CheckedQuery,
): Promise<RankedRows> {
  const { metric } = index.config;
  const packed = new Float32Array(dimensionOf(index, snapshot.manifest) ?? vector.length);
  copyVector(vector, packed, metric, "queryVector");
  const own = withLearned(index, snapshot, [packed], options);
  const { candidates, rows } = await run(nearest(index.searcher, snapshot, packed, own));
  return { rows, scores: candidates.map(({ score }) => distanceOf(metric, score)) };
}

/** Whether vectors are of a model that matches more than wording: the built-in ones that are lexical do not. */
function knowsMeaning(modelName: string | undefined): boolean {
  return modelName !== undefined && !modelName.startsWith("sealdex/lexical");
}

function* toMatches(
  { analyzer }: IndexWords,
  query: TextQuery,
  ranked: readonly Ranked[],
  { options, includesScores, includesHighlights }: CheckedWordQuery,
): Task<ScoredMatch[]> {
  const { include } = options;
  const fields = new Set([...include].filter((field): field is ItemField => field !== "distance"));
  if (includesHighlights) fields.add("contents");
  const items = yield* readItems(
    ranked.map(({ ref }) => ref),
    fields,
    options,
  );
  const matches: ScoredMatch[] = [];
  for (const [i, { contents, ...item }] of items.entries()) {
    const { score, sides } = ranked[i];
    const hasText = contents !== undefined && !isImageUrl(contents);
    const isMarked = includesHighlights && hasText;
    const marked = isMarked && (yield* highlights(contents, query, analyzer));
    matches.push(
      Object.assign(
        item,
        { score },
        include.has("contents") && contents !== undefined && { contents },
        include.has("distance") && sides.vectors !== undefined && { distance: sides.vectors },
        includesScores && { scores: sides },
        marked && { highlights: marked },
      ) as ScoredMatch,
    );
    if (isMarked && isPauseDue()) yield;
  }
  return matches;
}
