/** Queries of an index: texts and images are embedded, vectors are packed, and the nearest items are ranked if that is asked for. */

import { invalid } from "../check-input.js";
import { type Embedder, embedImages } from "../embedding/embedder.js";
import { type Image, isImageUrl } from "../embedding/image.js";
import type { Models } from "../embedding/models.js";
import { readImage } from "../embedding/read-image.js";
import { rankBest, type RerankInput } from "../embedding/reranker.js";
import { isComplete } from "../search/open-list-blocks.js";
import { type CheckedQuery, query, queryOne, queryWarm } from "../search/query.js";
import { reservedAfter } from "../search/read-items.js";
import type { Snapshot } from "../search/snapshot.js";
import type { Match, RankedMatch, Vector } from "../vector-index.js";
import { type QuerySubject, topKMax } from "./check-request.js";
import { checkWithoutVectors, keepsVectors } from "./kept-fields.js";
import { dimensionOf, type OpenIndex } from "./open-index.js";
import { copyVector } from "./pack-items.js";

/** Nearest items that a reranker scores for each match. */
const candidatesPerMatch = 4;

/** What an index knows of texts. */
export interface Texts {
  readonly models: Models;
  /** Of texts that come without a vector, if the index has a model. */
  readonly embedder?: Embedder | undefined;
}

/** As `answerQuery`, if it takes nothing but what is in memory; undefined if something has to be read, asked or embedded first. */
export function answerWarm(
  index: OpenIndex,
  subject: QuerySubject,
  options: CheckedQuery,
): Match[] | undefined {
  if (!("vector" in subject)) return undefined;
  const snapshot = index.snapshots.opened();
  if (snapshot === undefined) return undefined;
  const room = (dimension: number) => index.searcher.vectorOf(dimension);
  const packed = pack(index, snapshot, subject.vector, "queryVector", room);
  if (packed !== undefined && !keepsVectors(snapshot)) checkWithoutVectors(index, options.include);
  return packed && queryWarm(index.searcher, snapshot, packed, options);
}

/** One list for a vector, a text or an image, a list of lists for several vectors. */
export function answerQuery(
  index: OpenIndex,
  texts: Texts,
  subject: QuerySubject,
  options: CheckedQuery,
): Promise<Match[] | Match[][]> {
  if ("vectors" in subject) return searchEach(index, subject.vectors, options);
  if ("vector" in subject) return search(index, subject.vector, options);
  return embedQuery(index, texts, subject.contents).then((vector) => search(index, vector, options));
}

/** As `answerQuery` for a text, ordered by the scores of a reranker; items whose contents are no text are left out. */
export async function answerRanked(
  index: OpenIndex,
  texts: Texts,
  { contents, rerank }: { readonly contents: string; readonly rerank: RerankInput },
  options: CheckedQuery,
): Promise<RankedMatch[]> {
  const reranker = texts.models.reranker(rerank);
  const topK = Math.min(candidatesPerMatch * options.topK, topKMax);
  const include = new Set([...options.include, "contents" as const]);
  const vector = await embedQuery(index, texts, contents);
  const nearest = await search(index, vector, { ...options, topK, include });
  const candidates = nearest.filter(({ contents: text }) => text !== undefined && !isImageUrl(text));
  const passages = candidates.map((match) => match.contents ?? "");
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
  { embedder }: Texts,
  queryContents: string | Image,
): Promise<Vector> {
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

/** The nearest items of one vector. */
function search(index: OpenIndex, vector: Vector, options: CheckedQuery): Promise<Match[]> {
  return index.snapshots.readAhead((snapshot, confirm) => {
    const packed = pack(index, snapshot, vector, "queryVector");
    if (packed === undefined) return [];
    if (!keepsVectors(snapshot)) checkWithoutVectors(index, options.include);
    return queryOne(index.searcher, snapshot, packed, reservedAfter(confirm, options));
  });
}

/** The nearest items of each of these vectors. */
function searchEach(index: OpenIndex, vectors: readonly Vector[], options: CheckedQuery): Promise<Match[][]> {
  return index.snapshots.readAhead((snapshot, confirm) => {
    const packed = vectors.map((vector, i) => pack(index, snapshot, vector, `queryVectors[${i}]`));
    if (!isComplete(packed)) return vectors.map(() => []);
    if (!keepsVectors(snapshot)) checkWithoutVectors(index, options.include);
    return query(index.searcher, snapshot, packed, reservedAfter(confirm, options));
  });
}

/** A vector in float32, in what `room` returns. Undefined if no vector has been stored yet: then any dimension may ask, and nothing is near. */
function pack(
  index: OpenIndex,
  { manifest }: Snapshot,
  vector: Vector,
  where: string,
  room: (dimension: number) => Float32Array = (dimension) => new Float32Array(dimension),
): Float32Array | undefined {
  const dimension = dimensionOf(index, manifest);
  const packed = room(dimension ?? vector.length);
  copyVector(vector, packed, index.config.metric, where);
  return dimension === undefined ? undefined : packed;
}
