/**
 * The JSON text of results, in pieces, so that large responses are sent while they are written.
 * Metadata are copied as stored text.
 */

import type { RawMetadata } from "../../api/served-index.js";
import type { ItemPage, Match, QueryProfile, ScoredMatch, StoredItem } from "../../api/vector-index.js";
import { profileText } from "./profile.js";
import { encodeVector } from "./values.js";

/** `{"results":[…]}`, flat or one list per query. Matches have raw metadata. Followed by the profile, if there is one. */
export function* matchTexts(
  matches: readonly Match[] | readonly (readonly Match[])[],
  profile?: QueryProfile,
): Generator<string> {
  yield '{"results":';
  if (isBatch(matches)) yield* listTexts(matches, (list) => listTexts(list, itemText));
  else yield* listTexts(matches, itemText);
  yield profile === undefined ? "}" : `,"profile":${profileText(profile)}}`;
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

/** `{"indexes":[…]}`, or another name. */
export function* nameTexts(names: readonly string[], of = "indexes"): Generator<string> {
  yield `{"${of}":`;
  yield* listTexts(names, (name) => [JSON.stringify(name)]);
  yield "}";
}

/** `{"<name>":[…]}` with entries that are JSON already. */
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

type Encoded = Partial<ScoredMatch> & StoredItem & RawMetadata;

function itemText({ id, metadataJson, expiresAt, vector, decoded, ...others }: Encoded): Iterable<string> {
  const fields =
    member("namespace", others.namespace) +
    member("distance", others.distance) +
    member("score", others.score) +
    member("scores", others.scores) +
    member("highlights", others.highlights) +
    member("vector", vector && encodeVector(vector, "vector")) +
    member("decoded", decoded && encodeVector(decoded, "decoded")) +
    member("contents", others.contents);
  return [
    `{"id":${JSON.stringify(id)}${fields}${metadataMember(metadataJson)}${member("expires_at", expiresAt)}}`,
  ];
}

/**
 * A member that is not the first of its object; empty without a value. Avoids a list of members for
 * each of thousands of results.
 */
function member(name: string, value: unknown): string {
  return value === undefined ? "" : `,"${name}":${JSON.stringify(value)}`;
}

function metadataMember(metadataJson: string | undefined): string {
  return metadataJson === undefined ? "" : `,"metadata":${metadataJson}`;
}
