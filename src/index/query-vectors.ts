/** Queries of an index: texts and images are embedded, vectors are packed, and the nearest items are ranked if that is asked for. */

import { topKMax } from "../api/method-options.js";
import { enterStage } from "../async/profile.js";
import { invalid } from "../checks/input.js";
import { type Embedder, embedImages } from "../embedding/embedder.js";
import { type Image, isImageUrl } from "../embedding/image.js";
import type { Models } from "../embedding/models.js";
import { readImage } from "../embedding/read-image.js";
import { rankBest, type RerankInput } from "../embedding/reranker.js";
import type { Metric } from "../engine/config.js";
import { type CheckedQuery, query, queryEach } from "../query/query.js";
import { reservedAfter } from "../query/read-items.js";
import { isAutomatic } from "../query/list-limits.js";
import type { Snapshot } from "../query/snapshot/snapshot.js";
import { run, type Task, waitFor } from "../engine/threads/run.js";
import type { Match, RankedMatch, Vector } from "../api/vector-index.js";
import { type QuerySubject, takeContents } from "./check-request.js";
import { checkWithoutVectors } from "./open/available-fields.js";
import { hasDimension } from "./open/dimension.js";
import type { OpenIndex } from "./open/open-index.js";
import { copyVector } from "./pack-items.js";

/** Nearest items that a reranker scores for each match. */
const candidatesPerMatch = 4;

/** The parts of an index for texts. */
export interface IndexModels {
  readonly models: Models;
  /** Of texts that come without a vector, if the index has a model. */
  readonly embedder?: Embedder | undefined;
}

/** One list for a vector, a text or an image, a list of lists for several vectors. The subject is the caller's again once this has returned. */
export function answerQuery(
  index: OpenIndex,
  texts: IndexModels,
  subject: QuerySubject,
  options: CheckedQuery,
): Task<Match[] | Match[][]> {
  const { metric } = index.config;
  if (subject.kind === "vector") {
    const vector = index.searcher.takeVector(subject.vector.length);
    copyVector(subject.vector, vector, metric, "queryVector");
    return searchOne(index, vector, options);
  }
  if (subject.kind === "vectors") {
    const vectors = subject.vectors.map((vector, i) => copyOf(vector, metric, `queryVectors[${i}]`));
    return searchEach(index, vectors, options);
  }
  return searchContents(index, texts, takeContents(subject.contents), options);
}

/** As `answerQuery` for a text, ordered by the scores of a reranker; items whose contents are no text are left out. */
export async function answerRanked(
  index: OpenIndex,
  texts: IndexModels,
  { contents, rerank }: { readonly contents: string; readonly rerank: RerankInput },
  options: CheckedQuery,
): Promise<RankedMatch[]> {
  const reranker = texts.models.reranker(rerank);
  const topK = Math.max(options.topK, Math.min(candidatesPerMatch * options.topK, topKMax));
  const include = new Set([...options.include, "contents" as const]);
  const nearest = await run(searchContents(index, texts, contents, { ...options, topK, include }));
  const candidates = nearest.filter(({ contents: text }) => text !== undefined && !isImageUrl(text));
  const passages = candidates.map((match) => match.contents ?? "");
  enterStage("rerank");
  const best = await rankBest(reranker, contents, passages, {
    count: options.topK,
    signal: options.signal,
  });
  return best.map(({ position, score }) => {
    const { contents: text, ...match } = candidates[position];
    return { ...match, ...(options.include.has("contents") && { contents: text }), score };
  });
}

/** The vector of a text or an image. Throws `invalid_request` if the index has no embedding model. */
export async function embedQuery(
  { model }: OpenIndex,
  { embedder }: IndexModels,
  queryContents: string | Image,
): Promise<Vector> {
  enterStage("embed");
  const where = "queryContents";
  if (embedder !== undefined) {
    if (typeof queryContents === "string") return embedder.embedQuery(queryContents);
    const [vector] = await embedImages(embedder, [await readImage(queryContents, where)], where);
    return vector;
  }
  const reason =
    model === undefined
      ? "an index with an embedding model; this one has none, give queryVector"
      : "the embedding model, which its creator gave as an object; give it to loadIndex as embedding";
  throw invalid(`${where}: expected ${reason}`);
}

function* searchContents(
  index: OpenIndex,
  texts: IndexModels,
  contents: string | Image,
  options: CheckedQuery,
): Task<Match[]> {
  const vector = yield* waitFor(embedQuery(index, texts, contents));
  return yield* searchOne(index, copyOf(vector, index.config.metric, "queryVector"), options);
}

/** The nearest items of one vector, which the searcher may use again for another. */
function* searchOne(index: OpenIndex, vector: Float32Array, options: CheckedQuery): Task<Match[]> {
  const found = yield* index.snapshots.readAhead((snapshot, confirm) => {
    const own = onSnapshot(index, snapshot, confirm, [vector], options, () => "queryVector");
    return query(index.searcher, snapshot, vector, own);
  });
  index.searcher.giveBack(vector);
  return found;
}

/** The nearest items of each of these vectors. */
function searchEach(
  index: OpenIndex,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
): Task<Match[][]> {
  return index.snapshots.readAhead((snapshot, confirm) => {
    const own = onSnapshot(index, snapshot, confirm, vectors, options, (i) => `queryVectors[${i}]`);
    return queryEach(index.searcher, snapshot, vectors, own);
  });
}

/** The same options, for at most as many matches as there are rows: a search has room for all that it is asked for. */
export function withinRows({ segments }: Snapshot, options: CheckedQuery): CheckedQuery {
  if (options.topK <= topKMax) return options;
  const rows = segments.reduce((sum, { reader }) => sum + reader.footer.rows, 0);
  return { ...options, topK: Math.min(options.topK, rows) };
}

/** The same options with the limits that earlier queries needed for their recall. Later ones may learn from these vectors. */
export function withLearned(
  index: OpenIndex,
  { models }: Snapshot,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
): CheckedQuery {
  const { samples, searcher } = index;
  const { effort, topK } = options;
  if (samples === undefined || models.length === 0 || !isAutomatic(effort)) return options;
  for (const vector of vectors) samples.take(index, models, vector);
  const recall = searcher.learned.limitsOf(models, effort.recall, topK);
  return recall === effort.recall ? options : { ...options, effort: { lists: undefined, recall } };
}

/** The options of a query on a snapshot. `where`: names the vectors in errors. */
function onSnapshot(
  index: OpenIndex,
  snapshot: Snapshot,
  confirm: () => Promise<void>,
  vectors: readonly Float32Array[],
  options: CheckedQuery,
  where: (i: number) => string,
): CheckedQuery {
  // If no vector is stored, nothing is near.
  const hasAny = vectors.every((vector, i) => hasDimension(index, snapshot, vector, where(i)));
  if (!hasAny) return { ...options, topK: 0 };
  if (!snapshot.keepsVectors) checkWithoutVectors(index, options.include);
  return reservedAfter(confirm, withLearned(index, snapshot, vectors, withinRows(snapshot, options)));
}

/** A vector in float32. */
export function copyOf(vector: Vector, metric: Metric, where: string): Float32Array {
  const copy = new Float32Array(vector.length);
  copyVector(vector, copy, metric, where);
  return copy;
}
