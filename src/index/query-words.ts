/** Queries by words, or by words and meaning. */

import { invalid } from "../checks/input.js";
import { isImageUrl } from "../embedding/image.js";
import { distanceOf } from "../engine/metric.js";
import { type CheckedQuery, nearest } from "../query/query.js";
import { readItems, reservedAfter } from "../query/read-items.js";
import { type FoundByText, type RankedRows, searchText } from "../query/words/search-words.js";
import type { RowRef, Snapshot } from "../query/snapshot/snapshot.js";
import { fuse } from "../text/fusion.js";
import { highlights } from "../text/highlights.js";
import { parseTextQuery, type ParsedText } from "../text/text-query.js";
import { run, type Task, waitFor } from "../engine/threads/run.js";
import { isPauseDue } from "../async/event-loop.js";
import type { ItemField, ScoredMatch, SideScores, Vector } from "../api/vector-index.js";
import { embedQuery, type IndexModels, withinRows, withLearned } from "./query-vectors.js";
import type { CheckedWordQuery } from "./check-word-query.js";
import { checkWithoutVectors } from "./open/available-fields.js";
import { dimensionOf } from "./open/dimension.js";
import type { IndexWords } from "../text/define-text.js";
import type { OpenIndex } from "./open/open-index.js";
import { copyVector } from "./pack-items.js";

/** One of the rows of a query. */
interface Ranked {
  readonly ref: RowRef;
  readonly score: number;
  readonly sides: SideScores;
}

/** Rows that each side finds for a query by both, at least. */
const candidatesMin = 100;

export async function answerWords(
  index: OpenIndex,
  texts: IndexModels,
  checked: CheckedWordQuery,
): Promise<ScoredMatch[]> {
  const { words } = index;
  if (words === undefined)
    throw invalid("textIndex: this index has none to find words with; create it with textIndex: true");
  const { text, meaning } = checked;
  const query = parseTextQuery(text, words.analyzer);
  const vector =
    meaning && ("vector" in meaning ? meaning.vector : await embedQuery(index, texts, meaning.contents));
  const read = index.snapshots.readAhead(function* (snapshot, confirm) {
    const options = withinRows(snapshot, checked.options);
    if (!snapshot.keepsVectors) checkWithoutVectors(index, options.include);
    const byWords = (topK: number) =>
      searchText(snapshot, { ...options, query, parameters: words.definition, topK });
    const ranked =
      vector === undefined
        ? onlyWords(yield* waitFor(byWords(options.topK)))
        : yield* waitFor(byBoth(index, snapshot, { vector, byWords, checked: { ...checked, options } }));
    return yield* toMatches(words, query, ranked, { ...checked, options: reservedAfter(confirm, options) });
  });
  return run(read, checked.options.signal);
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
  const [{ candidates, rows }] = await run(nearest(index.searcher, snapshot, [packed], own));
  return { rows, scores: candidates.map(({ score }) => distanceOf(metric, score)) };
}

/** Whether vectors are of a model that matches more than wording: the built-in ones that are lexical do not. */
function knowsMeaning(modelName: string | undefined): boolean {
  return modelName !== undefined && !modelName.startsWith("sealdex/lexical");
}

function* toMatches(
  { analyzer }: IndexWords,
  query: ParsedText,
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
