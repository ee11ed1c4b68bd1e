/** The rows of a set by their order keys: from metadata columns, and from the records of rows that columns leave open. */

import { yieldIfDue } from "../../async/event-loop.js";
import { type ColumnsOfGroup, readColumns } from "../../state/segment/column-reader.js";
import {
  arraySet,
  type Column,
  objectSet,
  openSet,
  rowsPerColumnGroup,
  valueSet,
} from "../../state/segment/columns.js";
import { firstIndex, hasRow, keepRows, noRows, removeRows, rowsIn } from "../../state/segment/row-bits.js";
import { recordMetadata } from "../../state/segment/row.js";
import type { SegmentReader } from "../../state/segment/segment-reader.js";
import { columnKey, compareKeys, keyAt, type OrderField, type OrderKey } from "./order-key.js";

/** Where keys begin. */
export interface KeyBound {
  readonly key: OrderKey;
  readonly isIncluded: boolean;
}

/** Rows with one key. */
interface KeyedRows {
  readonly key: OrderKey;
  /** Positions in the segment, some at least. */
  readonly rows: readonly number[];
}

/** Records that are held at a time. */
const recordsTogether = 256;
const none = noRows(rowsPerColumnGroup);

/** The values of a column in their order, which is found once. */
const orders = new WeakMap<Column, Uint32Array>();

/**
 * Per group of rows, those of `bits` in the order of their keys. A group's generator is left as soon as its next keys are not
 * wanted.
 */
export async function* keyedRows(
  reader: SegmentReader,
  bits: Uint32Array,
  field: OrderField,
  from?: KeyBound,
): AsyncGenerator<Iterable<KeyedRows>> {
  const { path } = field;
  const { rows } = reader.footer;
  const prefixes = path.map((_, i) => path.slice(0, i + 1).join("."));
  const groups = await readColumns(reader, new Set([null, ...prefixes]));
  for (let firstRow = 0; firstRow < rows; firstRow += rowsPerColumnGroup) {
    await yieldIfDue();
    const size = Math.min(rowsPerColumnGroup, rows - firstRow);
    const wanted = bits.slice(firstRow / 32, Math.ceil((firstRow + size) / 32));
    if (wanted.every((word) => word === 0)) continue;
    const columns: ColumnsOfGroup = groups.get(firstRow) ?? new Map();
    const open = openRows(columns, prefixes, size);
    keepRows(open, wanted);
    removeRows(wanted, open);
    const group = new Group(columns.get(prefixes[prefixes.length - 1])?.(), wanted, firstRow, field);
    for (const prefix of prefixes) group.enterNoArrays(columns.get(prefix)?.());
    yield group.inOrder(from);
    const read = await readKeys(reader, rowsIn(open, 0, size), firstRow, field);
    if (read.length === 0) continue;
    const { isAscending } = field;
    yield read
      .filter(({ key }) => isWithin(key, from, field))
      .sort((a, b) => compareKeys(a.key, b.key, isAscending));
  }
}

/** Rows whose keys the columns of a group do not say. */
function openRows(columns: ColumnsOfGroup, prefixes: readonly string[], rows: number): Uint32Array {
  const open = noRows(rows);
  const rest = columns.get(null)?.();
  rest?.addTo(open, openSet);
  for (const prefix of prefixes) {
    const column = columns.get(prefix)?.();
    if (column === undefined) rest?.addTo(open, objectSet);
    else column.addTo(open, openSet);
  }
  return open;
}

async function readKeys(
  reader: SegmentReader,
  rows: readonly number[],
  firstRow: number,
  { path }: OrderField,
): Promise<KeyedRows[]> {
  const read: KeyedRows[] = [];
  for (let start = 0; start < rows.length; start += recordsTogether) {
    const piece = rows.slice(start, start + recordsTogether).map((row) => firstRow + row);
    const records = await reader.records(piece);
    for (const [i, row] of piece.entries()) {
      await yieldIfDue();
      read.push({ key: keyAt(recordMetadata(records[i]), path), rows: [row] });
    }
  }
  return read;
}

function isWithin(key: OrderKey, from: KeyBound | undefined, { isAscending }: OrderField): boolean {
  if (from === undefined) return true;
  const order = compareKeys(key, from.key, isAscending);
  return order > 0 || (order === 0 && from.isIncluded);
}

/** The rows of a group whose keys its columns say. */
class Group {
  readonly #column: Column | undefined;
  /** As bits. */
  readonly #wanted: Uint32Array;
  readonly #firstRow: number;
  readonly #field: OrderField;
  /** Rows with an array on the way or at the end of the path, as bits. */
  readonly #arrays = noRows(rowsPerColumnGroup);

  constructor(column: Column | undefined, wanted: Uint32Array, firstRow: number, field: OrderField) {
    this.#column = column;
    this.#wanted = wanted;
    this.#firstRow = firstRow;
    this.#field = field;
  }

  enterNoArrays(column: Column | undefined): void {
    column?.addTo(this.#arrays, arraySet);
  }

  *inOrder(from: KeyBound | undefined): Generator<KeyedRows> {
    const { isAscending } = this.#field;
    const column = this.#column;
    if (column !== undefined) {
      const order = orderOf(column);
      const at = (i: number) => order[isAscending ? i : order.length - 1 - i];
      const keyOf = (i: number) => columnKey(column.values[at(i)]);
      const first = firstIndex(order.length, (i) => isWithin(keyOf(i), from, this.#field));
      for (let i = first; i < order.length; i++) {
        const rows = this.#rowsOf(column.rowsIn(valueSet(at(i))));
        if (rows.length > 0) yield { key: keyOf(i), rows };
      }
    }
    if (isWithin(undefined, from, this.#field)) yield { key: undefined, rows: this.#missing() };
  }

  #rowsOf(rows: readonly number[]): number[] {
    return rows
      .filter((row) => hasRow(this.#wanted, row) && !hasRow(this.#arrays, row))
      .map((row) => this.#firstRow + row);
  }

  #missing(): number[] {
    const rows = this.#wanted.slice();
    const column = this.#column;
    if (column !== undefined) {
      const present = none.slice();
      column.values.forEach((value, i) => {
        if (value !== null) column.addTo(present, valueSet(i));
      });
      removeRows(present, this.#arrays);
      removeRows(rows, present);
    }
    return rowsIn(rows, 0, 32 * rows.length).map((row) => this.#firstRow + row);
  }
}

/** Of the values that have an order. */
function orderOf(column: Column): Uint32Array {
  const known = orders.get(column);
  if (known !== undefined) return known;
  const ordered = [...column.values.keys()].filter((i) => column.values[i] !== null);
  const keys = column.values.map(columnKey);
  ordered.sort((a, b) => compareKeys(keys[a], keys[b], true));
  const order = Uint32Array.from(ordered);
  orders.set(column, order);
  return order;
}
