/**
 * Live rows in the order of fields of their metadata. Rows with equal keys are a class; classes are gone through one after the
 * other, and only the keys that a page needs are held. Of a class that is cut by the page's end, only the first ids are taken.
 */

import { hiddenRows } from "../../query/words/hidden-rows.js";
import { type KeyBound, keyedRows } from "./keyed-rows.js";
import { compareKeys, keyAt, type OrderField, type OrderKey } from "./order-key.js";
import { forEachItem } from "../../query/read-items.js";
import type { OpenSegment, RowRef, Snapshot } from "../../query/snapshot/snapshot.js";
import { addRow, allRows, countRows, noRows, removeRows, rowsIn } from "../../state/segment/row-bits.js";
import type { Metadata } from "../../api/vector-index.js";
import { liveIds } from "./live-ids.js";
import {
  locate,
  matchingSegments,
  type MatchingSegments,
  type RowRange,
  type RowWithId,
} from "./rows-by-id.js";

/** Where a page ended. */
export interface OrderPosition {
  readonly id: string;
  /** One per field. */
  readonly keys: readonly OrderKey[];
}

interface OrderedRange extends Omit<RowRange, "after"> {
  readonly fields: readonly OrderField[];
  readonly after?: OrderPosition | undefined;
}

interface Rows extends Omit<OrderedRange, "filter"> {
  /** Live ones. */
  readonly sets: MatchingSegments;
}

interface OrderedRow extends RowWithId {
  readonly keys: readonly OrderKey[];
}

/** Found, with the key that found it. */
interface KeyedRow extends RowRef {
  readonly key: OrderKey;
}

/** Keys that are held at a time besides those of a page. */
const spareKeys = 1024;
/** Rows whose ids are read and sorted at a time. */
const idsTogether = 2048;

/** `wanted` rows or more, if there are as many, in pieces. */
export async function* orderedRows(
  snapshot: Snapshot,
  { filter, ...range }: OrderedRange,
): AsyncGenerator<readonly RowWithId[]> {
  const matching = filter && (await matchingSegments(snapshot, filter, range.signal));
  const sets = new Map<OpenSegment, { readonly bits: Uint32Array; readonly count: number }>();
  for (const segment of snapshot.segments) {
    const { rows } = segment.reader.footer;
    const bits = matching?.get(segment)?.bits.slice() ?? allRows(rows);
    removeRows(bits, (await hiddenRows(snapshot, segment)).bits);
    sets.set(segment, { bits, count: countRows(bits, 0, rows) });
  }
  yield* inOrder(snapshot, { ...range, sets });
}

async function* inOrder(snapshot: Snapshot, rows: Rows): AsyncGenerator<readonly RowWithId[]> {
  const { fields, after } = rows;
  if (fields.length === 0) {
    yield* byId(snapshot, rows);
    return;
  }
  const [field, ...others] = fields;
  let { wanted } = rows;
  if (after !== undefined) {
    const [key, ...keys] = after.keys;
    const { sets } = await rowsWith(rows, field, {
      from: { key, isIncluded: true },
      whole: new Set(),
      cut: key,
    });
    for await (const some of inOrder(snapshot, {
      ...rows,
      sets,
      fields: others,
      after: { ...after, keys },
    })) {
      yield some;
      wanted -= some.length;
    }
    if (wanted <= 0) return;
  }
  const from = after && { key: after.keys[0], isIncluded: false };
  const keys = { from, ...(await firstKeys({ ...rows, wanted }, field, from)) };
  const { found, sets } = await rowsWith(rows, field, keys);
  if (found.length > 0) yield await sorted(found, fields);
  wanted -= found.length;
  yield* inOrder(snapshot, { ...rows, sets, fields: others, after: undefined, wanted });
}

interface Keys {
  readonly from: KeyBound | undefined;
  readonly whole: ReadonlySet<OrderKey>;
  readonly cut: OrderKey;
}

/** The keys that follow, of which `whole` have fewer rows than are wanted, and those with the rows of `cut` as many or more. */
async function firstKeys(
  { sets, wanted, signal }: Rows,
  field: OrderField,
  from: KeyBound | undefined,
): Promise<Omit<Keys, "from">> {
  const { isAscending } = field;
  const counts = new Map<OrderKey, number>();
  let last: { readonly key: OrderKey } | undefined;
  const prune = () => {
    const keys = [...counts.keys()].sort((a, b) => compareKeys(a, b, isAscending));
    let sum = 0;
    for (const key of keys) {
      if (sum >= wanted) counts.delete(key);
      else last = { key };
      sum += counts.get(key) ?? 0;
    }
    if (sum < wanted) last = undefined;
  };
  for (const [{ reader }, { bits, count }] of sets) {
    if (count === 0) continue;
    for await (const group of keyedRows(reader, bits, field, from)) {
      signal?.throwIfAborted();
      let found = 0;
      for (const { key, rows } of group) {
        if (found >= wanted || (last !== undefined && compareKeys(key, last.key, isAscending) > 0)) break;
        counts.set(key, (counts.get(key) ?? 0) + rows.length);
        found += rows.length;
        if (counts.size > 2 * wanted + spareKeys) prune();
      }
    }
  }
  prune();
  const whole = new Set(counts.keys());
  // Without one that is cut, the last class is: it is gone through to its end.
  const cut = last === undefined ? lastOf(counts, isAscending) : last.key;
  whole.delete(cut);
  return { whole, cut };
}

function lastOf(counts: ReadonlyMap<OrderKey, number>, isAscending: boolean): OrderKey {
  let last: { readonly key: OrderKey } | undefined;
  for (const key of counts.keys()) {
    if (last === undefined || compareKeys(key, last.key, isAscending) > 0) last = { key };
  }
  return last?.key;
}

/** The rows with one of the keys `whole`, and sets of those with the key `cut`. */
async function rowsWith(
  { sets, signal }: Rows,
  field: OrderField,
  { from, whole, cut }: Keys,
): Promise<{ readonly found: KeyedRow[]; readonly sets: MatchingSegments }> {
  const found: KeyedRow[] = [];
  const cutSets = new Map<OpenSegment, { readonly bits: Uint32Array; readonly count: number }>();
  for (const [segment, { bits, count }] of sets) {
    const own = noRows(segment.reader.footer.rows);
    if (count > 0) {
      for await (const group of keyedRows(segment.reader, bits, field, from)) {
        signal?.throwIfAborted();
        for (const { key, rows } of group) {
          const order = compareKeys(key, cut, field.isAscending);
          if (order > 0) break;
          if (order === 0) for (const row of rows) addRow(own, row);
          else if (whole.has(key)) for (const row of rows) found.push({ segment, row, key });
        }
      }
    }
    cutSets.set(segment, { bits: own, count: countRows(own, 0, segment.reader.footer.rows) });
  }
  return { found, sets: cutSets };
}

/** With their ids, in the order of all fields. */
async function sorted(
  found: readonly KeyedRow[],
  fields: readonly OrderField[],
): Promise<readonly RowWithId[]> {
  const others = fields.slice(1);
  const rows: OrderedRow[] = [];
  await forEachItem(found, new Set(others.length > 0 ? ["metadata"] : []), ({ id, metadataJson }, i) => {
    const { segment, row, key } = found[i];
    const metadata = others.length > 0 ? (JSON.parse(metadataJson ?? "{}") as Metadata) : undefined;
    rows.push({ segment, row, id, keys: [key, ...others.map(({ path }) => keyAt(metadata, path))] });
  });
  return rows.sort((a, b) => {
    for (const [i, { isAscending }] of fields.entries()) {
      const order = compareKeys(a.keys[i], b.keys[i], isAscending);
      if (order !== 0) return order;
    }
    return byIdOf(a, b);
  });
}

function byIdOf(a: RowWithId, b: RowWithId): number {
  return a.id < b.id ? -1 : 1;
}

/** The rows in the order of their ids. */
async function* byId(
  snapshot: Snapshot,
  { sets, after, wanted, signal }: Rows,
): AsyncGenerator<readonly RowWithId[]> {
  let count = 0;
  let all = 0;
  for (const [segment, set] of sets) {
    count += set.count;
    all += segment.reader.footer.rows;
  }
  if (count === 0 || wanted <= 0) return;
  // Of many rows, a part of all ids has as many as are wanted.
  if (count > idsTogether && count * count > all * wanted) {
    const range = { after: after?.id, wanted: idsTogether, signal };
    for await (const ids of liveIds(snapshot, range)) yield await locate(ids, sets);
    return;
  }
  let first: RowWithId[] = [];
  const keepFirst = () => {
    first = first.sort(byIdOf).slice(0, wanted);
  };
  for (const [segment, { bits }] of sets) {
    const refs = rowsIn(bits, 0, segment.reader.footer.rows).map((row) => ({ segment, row }));
    await forEachItem(refs, new Set(), ({ id }, i) => {
      if (after === undefined || id > after.id) first.push({ ...refs[i], id });
      if (first.length >= wanted + idsTogether) keepFirst();
    });
    signal?.throwIfAborted();
  }
  keepFirst();
  yield first;
}
