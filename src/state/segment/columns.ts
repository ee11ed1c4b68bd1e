/**
 * Metadata columns: for one path, which rows reach which values by it. docs/internals/format.md §4.
 *
 * "Reach" is a filter's word (see filter-match.ts): a path enters objects, and the objects of an array; of an array at its
 * end it reaches each element and the whole. A column holds the scalars that are reached and says of which rows arrays
 * or objects are reached too; a missing field, and positions of arrays, are the business of the evaluation of a filter.
 */

import { SealdexError } from "../../errors.js";
import type { CachedValue } from "../cache/cache-group.js";
import { Page } from "./page.js";
import { addRow, noRows, rowsIn } from "./row-bits.js";

export type Scalar = string | number | boolean | null;

/** A scalar; or, in an array of its own, the beginning of texts that are longer. */
export type ColumnValue = Scalar | readonly [string];

/** Rows that one column block covers: bounds the memory of writing and of reading one. */
export const rowsPerColumnGroup = 16_384;

/** Texts of more UTF-16 units are held by as many of their first ones. */
export const textMax = 96;

/** Sets that every column has, before the ones of its values. */
export const arraySet = 0;
/** Rows that reach an object. */
export const objectSet = 1;
/** Rows of which the column does not hold all values. */
export const openSet = 2;
const fixedSets = 3;

/** The set of value i. */
export function valueSet(i: number): number {
  return fixedSets + i;
}

export function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value !== "object";
}

/**
 * A column of a group of `rows` rows. `members` are set * rowsPerColumnGroup + row, the rows of a set ascending, repeated
 * ones one after the other.
 */
export function encodeColumn(
  values: readonly ColumnValue[],
  members: readonly number[],
  rows: number,
): Uint8Array {
  const sets = fixedSets + values.length;
  const starts = new Uint32Array(sets + 1);
  for (const member of members) starts[Math.floor(member / rowsPerColumnGroup) + 1]++;
  for (let set = 0; set < sets; set++) starts[set + 1] += starts[set];
  const sorted = new Uint16Array(members.length);
  const ends = starts.slice(0, sets);
  for (const member of members) {
    const set = Math.floor(member / rowsPerColumnGroup);
    const row = member % rowsPerColumnGroup;
    if (ends[set] === starts[set] || sorted[ends[set] - 1] !== row) sorted[ends[set]++] = row;
  }

  const text = Buffer.from(JSON.stringify(values), "utf8");
  const counts = ends.map((end, set) => end - starts[set]);
  const bytes = Buffer.alloc(
    4 + text.length + 2 * sets + counts.reduce((sum, count) => sum + setBytes(count, rows), 0),
  );
  bytes.writeUInt32LE(text.length, 0);
  bytes.set(text, 4);
  let at = 4 + text.length;
  for (const count of counts) at = bytes.writeUInt16LE(count, at);
  for (let set = 0; set < sets; set++) {
    const inSet = sorted.subarray(starts[set], ends[set]);
    if (isList(inSet.length, rows)) for (const row of inSet) at = bytes.writeUInt16LE(row, at);
    else {
      for (const row of inSet) bytes[at + (row >>> 3)] |= 1 << (row & 7);
      at += setBytes(inSet.length, rows);
    }
  }
  return bytes;
}

/** Whether a set of this many rows is shorter as a list than as bits. */
function isList(count: number, rows: number): boolean {
  return 2 * count <= Math.ceil(rows / 8);
}

function setBytes(count: number, rows: number): number {
  return isList(count, rows) ? 2 * count : Math.ceil(rows / 8);
}

/** One path's column of a group of rows. */
export class Column {
  readonly values: readonly ColumnValue[];
  readonly #bytes: Uint8Array;
  readonly #rows: number;
  readonly #counts: Uint16Array;
  /** Where each set begins. */
  readonly #offsets: Uint32Array;

  /** Throws `corrupt` unless `bytes` are a column of `rows` rows. Keeps a view of `bytes`. */
  constructor(bytes: Uint8Array, rows: number) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const textLength = bytes.length < 4 ? Infinity : view.getUint32(0, true);
    if (4 + textLength > bytes.length) throw corrupt("its values are cut short");
    this.values = decodeValues(bytes.subarray(4, 4 + textLength));
    const sets = fixedSets + this.values.length;
    const countsAt = 4 + textLength;
    if (countsAt + 2 * sets > bytes.length) throw corrupt("its counts are cut short");
    this.#counts = Uint16Array.from({ length: sets }, (_, i) => view.getUint16(countsAt + 2 * i, true));
    this.#offsets = new Uint32Array(sets);
    let at = countsAt + 2 * sets;
    this.#counts.forEach((count, set) => {
      this.#offsets[set] = at;
      at += setBytes(count, rows);
    });
    if (at !== bytes.length) throw corrupt("its length does not fit its counts");
    this.#bytes = bytes;
    this.#rows = rows;
  }

  get sets(): number {
    return this.#counts.length;
  }

  /** The rows of a set, ascending. Throws `corrupt` for rows that the group does not have. */
  rowsIn(set: number): number[] {
    const count = this.#counts[set];
    if (!isList(count, this.#rows)) {
      const bits = noRows(this.#rows);
      this.addTo(bits, set);
      return rowsIn(bits, 0, this.#rows);
    }
    let row = -1;
    return Array.from({ length: count }, (_, i) => (row = this.#listed(set, i, row)));
  }

  /** Adds the rows of a set to `bits`. Throws `corrupt` for rows that the group does not have. */
  addTo(bits: Uint32Array, set: number): void {
    const bytes = this.#bytes;
    const count = this.#counts[set];
    const at = this.#offsets[set];
    if (isList(count, this.#rows)) {
      for (let i = 0, row = -1; i < count; i++) addRow(bits, (row = this.#listed(set, i, row)));
      return;
    }
    const length = setBytes(count, this.#rows);
    const spare = 8 * length - this.#rows;
    if (bytes[at + length - 1] >>> (8 - spare) !== 0) throw corrupt("it names a row that there is not");
    for (let i = 0; i < length; i++) bits[i >>> 2] |= bytes[at + i] << (8 * (i & 3));
  }

  /** Row `i` of a list, which comes after `before`. */
  #listed(set: number, i: number, before: number): number {
    const at = this.#offsets[set] + 2 * i;
    const row = this.#bytes[at] | (this.#bytes[at + 1] << 8);
    if (row <= before || row >= this.#rows) throw corrupt("it names a row that there is not");
    return row;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeValues(text: Uint8Array): readonly ColumnValue[] {
  let values: unknown;
  try {
    values = JSON.parse(utf8.decode(text));
  } catch {
    // Without the cause, whose message quotes the text.
    throw corrupt("its values are no JSON");
  }
  const valid = (value: unknown): value is ColumnValue =>
    isScalar(value) ||
    (Array.isArray(value) &&
      value.length === 1 &&
      typeof value[0] === "string" &&
      value[0].length === textMax);
  if (!Array.isArray(values) || !values.every(valid)) throw corrupt("its values are none");
  return values;
}

function corrupt(fault: string): SealdexError {
  return new SealdexError("corrupt", `metadata column: ${fault}`);
}

// The columns of one block, opened.

const columns = { name: "metadata columns", mayBeAbsent: false, bytesMin: 4 };

/** Columns of one group of rows, each decoded when it is first asked for. */
export class ColumnPage implements CachedValue {
  readonly bytes: number;
  readonly plaintext: Uint8Array;
  readonly #parts: readonly Uint8Array[];
  readonly #rows: number;
  readonly #columns: Column[] = [];

  /** `plaintext`: a page (see page.ts) of `count` columns of `rows` rows. */
  constructor(plaintext: Uint8Array, count: number, rows: number) {
    const page = new Page(plaintext, count, columns);
    this.#parts = Array.from({ length: count }, (_, i) => page.entry(i) as Uint8Array);
    this.#rows = rows;
    this.plaintext = plaintext;
    this.bytes = decodedShare * plaintext.buffer.byteLength;
  }

  column(i: number): Column {
    return (this.#columns[i] ??= new Column(this.#parts[i], this.#rows));
  }
}

/** Memory of decoded columns and their bytes, as a multiple of the bytes: values of few characters weigh most. */
const decodedShare = 4;
