/** Checks of answers of an index against the plain one. */

import type { Filter, Match, StoredItem } from "../../src/core.js";
import type { PlainIndex, PlainItem } from "./plain-index.js";

/** What was asked, and what the answer must therefore be. */
export interface Asked {
  readonly topK: number;
  readonly include: readonly string[];
  readonly filter: Filter | undefined;
  /** As many as there are, up to topK. */
  readonly isFull: boolean;
  /** None nearer was left out. */
  readonly isNearest: boolean;
}

/** `matching`: the items that the filter lets pass. */
export function checkMatches(
  plain: PlainIndex,
  query: Float32Array,
  found: readonly Match[],
  matching: readonly PlainItem[],
  asked: Asked,
): void {
  const { topK, include, isFull, isNearest, filter } = asked;
  const fault = (what: string) =>
    new Error(`${what}: ${JSON.stringify({ topK, include, filter }).slice(0, 1500)}`);
  const most = Math.min(topK, matching.length);
  if (found.length > most || (isFull && found.length < most)) {
    throw fault(`${found.length} matches of ${matching.length}`);
  }
  const allowed = new Map(matching.map((item) => [item.id, item]));
  if (new Set(found.map(({ id }) => id)).size !== found.length) throw fault("an item twice");
  const distances: number[] = [];
  for (const match of found) {
    const item = allowed.get(match.id);
    if (item === undefined) throw fault(`${match.id} does not match`);
    checkItem(plain, match, item, include);
    if (!include.includes("distance")) continue;
    const { distance = NaN } = match;
    const expected = plain.distance(query, item.vector);
    if (!Number.isFinite(distance)) throw fault(`distance ${distance}`);
    if (plain.isExact && !isNear(distance, expected)) throw fault(`distance ${distance} for ${expected}`);
    if (distances.length > 0 && distance < distances[distances.length - 1])
      throw fault("matches out of order");
    distances.push(distance);
  }
  if (!isNearest) return;
  const nearest = matching.map((item) => plain.distance(query, item.vector)).sort((a, b) => a - b);
  const own = found.map(({ id }) => plain.distance(query, (allowed.get(id) as PlainItem).vector));
  own.forEach((distance, i) => {
    if (!isNear(distance, nearest[i]))
      throw fault(`match ${i} at ${distance}, expected one at ${nearest[i]}`);
  });
}

/** Whether an item has the fields asked for and no others, as they were stored. */
export function checkItem(
  plain: PlainIndex,
  found: StoredItem,
  item: PlainItem,
  include: readonly string[],
): void {
  const { id, vector, decoded, contents, metadata } = found;
  const fault = (field: string) => new Error(`${field} of ${id} is not what was stored`);
  if (id !== item.id) throw fault("id");
  if (contents !== (include.includes("contents") ? item.contents : undefined)) throw fault("contents");
  const expected = include.includes("metadata") ? JSON.stringify(item.metadata) : undefined;
  if ((metadata && JSON.stringify(metadata)) !== expected) throw fault("metadata");
  const isSame = (given: Float32Array) => given.every((value, i) => Object.is(value, item.vector[i]));
  const isKept = include.includes("vector") && plain.isExact;
  if ((vector !== undefined) !== isKept || (vector && !isSame(vector))) throw fault("vector");
  if ((decoded !== undefined) !== include.includes("decoded")) throw fault("decoded");
  if (decoded?.length !== (decoded && item.vector.length)) throw fault("decoded");
  if (decoded && plain.isExact && !isSame(decoded)) throw fault("decoded");
}

/** Rounding of float64 sums: relative, and where vectors differ by less than they are long, absolute. */
function isNear(value: number, expected: number): boolean {
  return Math.abs(value - expected) <= 1e-9 * Math.abs(expected) + 1e-12;
}
