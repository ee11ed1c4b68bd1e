/** Items in the order of a field of their metadata. */

import { type Filter, type Metadata, SealdexError, type VectorIndex } from "sealdex/core";
import { yieldIfDue } from "sealdex/wire";
import type { ReadLimits } from "./results.js";

/** Items that are ordered, at most: their ids and values are in memory together. */
const orderedMax = 100_000;
const pageItems = 1000;
/** What an id and a value take in memory, about. */
const entryBytes = 256;

export interface Order {
  /** A dotted path. */
  readonly field: string;
  readonly isAscending: boolean;
}

interface Entry {
  readonly id: string;
  readonly value: unknown;
}

/** Ids of the items that match. Throws `too_large` if they are too many to be ordered. */
export async function idsInOrder(
  index: VectorIndex,
  { field, isAscending }: Order,
  filter: Filter | undefined,
  { signal, reserveBytes }: ReadLimits,
): Promise<string[]> {
  const path = field.split(".");
  const compare = (a: Entry, b: Entry) => compareEntries(a, b, isAscending);
  let runs: Entry[][] = [];
  let count = 0;
  let cursor: string | undefined;
  do {
    const page = await index.listItems({ filter, include: ["metadata"], limit: pageItems, cursor, signal });
    count += page.items.length;
    if (count > orderedMax) {
      throw new SealdexError(
        "too_large",
        `order_by: expected at most ${orderedMax} items that match, got more`,
      );
    }
    await reserveBytes(page.items.length * entryBytes);
    runs.push(page.items.map(({ id, metadata }) => ({ id, value: valueAt(metadata, path) })).sort(compare));
    cursor = page.cursor;
  } while (cursor !== undefined);
  while (runs.length > 1) {
    const merged: Entry[][] = [];
    for (let i = 0; i < runs.length; i += 2) merged.push(await merge(runs[i], runs[i + 1] ?? [], compare));
    runs = merged;
  }
  return (runs[0] ?? []).map(({ id }) => id);
}

/** Lets other requests be served in between. */
async function merge(a: Entry[], b: Entry[], compare: (a: Entry, b: Entry) => number): Promise<Entry[]> {
  const merged: Entry[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (merged.length % pageItems === 0) await yieldIfDue();
    const isFirst = j === b.length || (i < a.length && compare(a[i], b[j]) <= 0);
    merged.push(isFirst ? a[i++] : b[j++]);
  }
  return merged;
}

function valueAt(metadata: Metadata | undefined, path: readonly string[]): unknown {
  let value: unknown = metadata;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** Types that have an order, in theirs. */
const types = ["number", "string", "boolean"];

function compareEntries(a: Entry, b: Entry, isAscending: boolean): number {
  const [typeA, typeB] = [types.indexOf(typeof a.value), types.indexOf(typeof b.value)];
  const byId = a.id < b.id ? -1 : Number(a.id > b.id);
  if (typeA < 0 || typeB < 0) return typeA === typeB ? byId : typeB - typeA;
  const [x, y] = [a.value as number, b.value as number];
  const order = typeA - typeB || (x < y ? -1 : Number(x > y));
  return (isAscending ? order : -order) || byId;
}
