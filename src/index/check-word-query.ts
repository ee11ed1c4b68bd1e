/** Checks of queries by words, with every default filled in. */

import type { ResultSettings } from "../api/served-index.js";
import type { MatchField, Vector, WordQuery } from "../api/vector-index.js";
import { checkVectorShape, invalid, isArray, typeName } from "../checks/input.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import { type Image, isImage } from "../embedding/image.js";
import type { CheckedQuery } from "../query/query.js";
import type { Fusion } from "../text/fusion.js";
import { checkQueryOptions, takeContents } from "./check-request.js";

export interface CheckedWordQuery {
  readonly text: string;
  /** The vector to compare with; undefined: words alone. */
  readonly meaning: { readonly vector: Vector } | { readonly contents: string | Image } | undefined;
  readonly fusion: Fusion;
  readonly options: CheckedQuery;
  readonly includesScores: boolean;
  readonly includesHighlights: boolean;
}

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
