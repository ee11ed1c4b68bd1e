/** The JSON text of results, in pieces: large responses are sent while they are written. Metadata stay the text they are stored as. */

import type { ItemPage, Match, RankedMatch, RawMetadata, ScoredMatch, StoredItem } from "../vector-index.js";
import { encodeVector } from "./values.js";

/** `{"results":[…]}`, flat or one list per query. Matches have raw metadata. */
export function* matchTexts(matches: readonly Match[] | readonly (readonly Match[])[]): Generator<string> {
  yield '{"results":';
  if (isBatch(matches)) yield* listTexts(matches, (list) => listTexts(list, matchText));
  else yield* listTexts(matches, matchText);
  yield "}";
}

/** `{"results":[…]}`. Items have raw metadata. */
export function* itemTexts(items: readonly StoredItem[]): Generator<string> {
  yield '{"results":';
  yield* listTexts(items, itemText);
  yield "}";
}

/** `{"results":[…],"cursor":…}`, without a cursor after the last page. Items have raw metadata. */
export function* pageTexts({ items, cursor }: ItemPage): Generator<string> {
  yield '{"results":';
  yield* listTexts(items, itemText);
  yield cursor === undefined ? "}" : `,"cursor":${JSON.stringify(cursor)}}`;
}

/** `{"ids":[…],"count":…}`. */
export function* idTexts(ids: readonly string[]): Generator<string> {
  yield '{"ids":';
  yield* listTexts(ids, (id) => [JSON.stringify(id)]);
  yield `,"count":${ids.length}}`;
}

/** `{"results":[{"id":…}],"ids":[…],"count":…}`. */
export function* idRowTexts(ids: readonly string[]): Generator<string> {
  yield '{"results":';
  yield* listTexts(ids, (id) => [`{"id":${JSON.stringify(id)}}`]);
  yield ',"ids":';
  yield* listTexts(ids, (id) => [JSON.stringify(id)]);
  yield `,"count":${ids.length}}`;
}

/** `{"indexes":[…]}`, or under another name. */
export function* nameTexts(names: readonly string[], of = "indexes"): Generator<string> {
  yield `{"${of}":`;
  yield* listTexts(names, (name) => [JSON.stringify(name)]);
  yield "}";
}

/** `{"<name>":[…]}` of entries that are JSON. */
export function* entryTexts(name: string, entries: readonly string[]): Generator<string> {
  yield `{${JSON.stringify(name)}:`;
  yield* listTexts(entries, (entry) => [entry]);
  yield "}";
}

function isBatch(
  matches: readonly Match[] | readonly (readonly Match[])[],
): matches is readonly (readonly Match[])[] {
  return Array.isArray(matches[0]);
}

function* listTexts<T>(list: readonly T[], texts: (entry: T) => Iterable<string>): Generator<string> {
  yield "[";
  for (let i = 0; i < list.length; i++) {
    if (i > 0) yield ",";
    yield* texts(list[i]);
  }
  yield "]";
}

type WordFields = Partial<Pick<ScoredMatch<readonly ["scores", "highlights"]>, "scores" | "highlights">>;

function matchText({
  id,
  namespace,
  distance,
  score,
  scores,
  highlights,
  metadataJson,
  expiresAt,
}: Match & RawMetadata & Partial<RankedMatch> & WordFields): Iterable<string> {
  // One text per match, put together without a list of its fields: a service writes thousands.
  let text = `{"id":${JSON.stringify(id)}`;
  if (namespace !== undefined) text += `,"namespace":${JSON.stringify(namespace)}`;
  if (distance !== undefined) text += `,"distance":${JSON.stringify(distance)}`;
  if (score !== undefined) text += `,"score":${JSON.stringify(score)}`;
  if (scores !== undefined) text += `,"scores":${JSON.stringify(scores)}`;
  if (highlights !== undefined) text += `,"highlights":${JSON.stringify(highlights)}`;
  if (metadataJson !== undefined) text += `,"metadata":${metadataJson}`;
  if (expiresAt !== undefined) text += `,"expires_at":${JSON.stringify(expiresAt)}`;
  return [`${text}}`];
}

function itemText({
  id,
  namespace,
  vector,
  decoded,
  contents,
  metadataJson,
  expiresAt,
}: StoredItem & RawMetadata): Iterable<string> {
  const fields = [
    `"id":${JSON.stringify(id)}`,
    ...(namespace === undefined ? [] : [`"namespace":${JSON.stringify(namespace)}`]),
    ...(vector === undefined ? [] : [`"vector":${JSON.stringify(encodeVector(vector, "vector"))}`]),
    ...(decoded === undefined ? [] : [`"decoded":${JSON.stringify(encodeVector(decoded, "decoded"))}`]),
    ...(contents === undefined ? [] : [`"contents":${JSON.stringify(contents)}`]),
    ...(metadataJson === undefined ? [] : [`"metadata":${metadataJson}`]),
    ...(expiresAt === undefined ? [] : [`"expires_at":${JSON.stringify(expiresAt)}`]),
  ];
  return [`{${fields.join(",")}}`];
}
