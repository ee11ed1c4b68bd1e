/** Turns the metadata of rows into columns, group by group, from which a filter is answered without the records. */

import {
  arraySet,
  type ColumnValue,
  encodeColumn,
  isScalar,
  objectSet,
  openSet,
  rowsPerColumnGroup,
  type Scalar,
  textMax,
  valueSet,
} from "./columns.js";
import { addRow, noRows, rowsIn } from "./row-bits.js";
import { recordMetadata, type Rows } from "./row.js";

/** A column of the rows `firstRow` to `firstRow + rows`. */
export interface EncodedColumn {
  readonly firstRow: number;
  readonly rows: number;
  /** Its parts joined by dots; null for the column that says which rows the others do not cover. */
  readonly path: string | null;
  readonly bytes: Uint8Array;
}

/** Columns that a group keeps: those of the paths that most rows have. */
const columnsMax = 64;
/** Paths that are followed before that is known. */
const pathsMax = 512;
/** How many of them one row may be the first to have. */
const newPathsPerRowMax = 64;
/** Values of one row that one column holds. */
const valuesPerRowMax = 64;
/** Values of one row in all. */
const visitsPerRowMax = 4096;
/** Bytes of records that are read in one piece of work, of one or two milliseconds. */
const pieceBytes = 64 * 1024;

/** The columns of all rows, group after group, undefined after each piece of work. Rows without metadata have none. */
export function* gatherColumns(stored: Rows): Generator<EncodedColumn | undefined, void, void> {
  for (let firstRow = 0; firstRow < stored.length; firstRow += rowsPerColumnGroup) {
    const rows = Math.min(rowsPerColumnGroup, stored.length - firstRow);
    const group = new Group();
    let bytes = 0;
    for (let row = 0; row < rows; row++) {
      const { record } = stored.at(firstRow + row);
      group.add(row, record);
      bytes += record.length;
      if (bytes < pieceBytes) continue;
      bytes = 0;
      yield undefined;
    }
    for (const { path, column } of group.chosen()) {
      yield { firstRow, rows, path, bytes: column.encode(rows) };
    }
  }
}

/** The members of one column, as they are found. */
class Gathered {
  readonly #sets = new Map<Scalar, number>();
  /** Sets of texts that are longer, by their beginning. */
  readonly #beginnings = new Map<string, number>();
  readonly #values: ColumnValue[] = [];
  readonly #members: number[] = [];
  /** Rows that are in any set. */
  rows = 0;
  #row = -1;
  #valuesOfRow = 0;

  mark(set: number, row: number): void {
    if (row !== this.#row) {
      this.#row = row;
      this.#valuesOfRow = 0;
      this.rows++;
    }
    this.#members.push(set * rowsPerColumnGroup + row);
  }

  addValue(value: Scalar, row: number): void {
    if (row === this.#row && this.#valuesOfRow >= valuesPerRowMax) {
      if (this.#valuesOfRow++ === valuesPerRowMax) this.mark(openSet, row);
      return;
    }
    this.mark(this.#setOf(value), row);
    this.#valuesOfRow++;
  }

  #setOf(value: Scalar): number {
    const long = typeof value === "string" && value.length > textMax;
    const key = long ? value.slice(0, textMax) : value;
    const sets: Map<Scalar, number> = long ? this.#beginnings : this.#sets;
    const known = sets.get(key);
    if (known !== undefined) return known;
    const set = valueSet(this.#values.length);
    this.#values.push(long ? [key as string] : key);
    sets.set(key, set);
    return set;
  }

  /** Adds the rows of all sets to `bits`. */
  addRowsTo(bits: Uint32Array): void {
    for (const member of this.#members) addRow(bits, member % rowsPerColumnGroup);
  }

  encode(rows: number): Uint8Array {
    return encodeColumn(this.#values, this.#members, rows);
  }
}

/** A path as a node of the tree of all paths. */
class PathNode {
  readonly path: string;
  readonly column = new Gathered();
  readonly children = new Map<string, PathNode>();

  constructor(path: string) {
    this.path = path;
  }
}

class Group {
  readonly #roots = new Map<string, PathNode>();
  readonly #nodes: PathNode[] = [];
  /** Rows with paths that have no column, now or later. */
  readonly #partial = noRows(rowsPerColumnGroup);
  /** Rows of which some values were not read, although their paths may have a column or get one from a later row. */
  readonly #unread = noRows(rowsPerColumnGroup);
  #visits = 0;
  #newPaths = 0;

  add(row: number, record: Uint8Array): void {
    this.#visits = 0;
    this.#newPaths = 0;
    this.#enter(this.#roots, undefined, recordMetadata(record), row);
    if (this.#visits > visitsPerRowMax) addRow(this.#unread, row);
  }

  #enter(
    children: Map<string, PathNode>,
    parent: PathNode | undefined,
    object: Readonly<Record<string, unknown>>,
    row: number,
  ): void {
    for (const key of Object.keys(object)) {
      // No filter can name it: the dots would part its path.
      if (key.includes(".")) continue;
      const node = children.get(key) ?? this.#follow(children, parent, key, row);
      if (node !== undefined) this.#visit(node, object[key], row);
    }
  }

  #follow(
    children: Map<string, PathNode>,
    parent: PathNode | undefined,
    key: string,
    row: number,
  ): PathNode | undefined {
    if (this.#nodes.length === pathsMax) {
      addRow(this.#partial, row);
      return undefined;
    }
    // A later row may be the first to have this path. At most pathsMax / newPathsPerRowMax rows of a group get here.
    if (this.#newPaths++ >= newPathsPerRowMax) {
      addRow(this.#unread, row);
      return undefined;
    }
    const node = new PathNode(parent === undefined ? key : `${parent.path}.${key}`);
    children.set(key, node);
    this.#nodes.push(node);
    return node;
  }

  #visit(node: PathNode, value: unknown, row: number): void {
    if (this.#visits++ >= visitsPerRowMax) return;
    if (!Array.isArray(value)) {
      this.#take(node, value, row);
      return;
    }
    node.column.mark(arraySet, row);
    for (const element of value) {
      if (this.#visits++ >= visitsPerRowMax) return;
      // An array directly inside an array is entered by position only.
      if (!Array.isArray(element)) this.#take(node, element, row);
    }
  }

  #take(node: PathNode, value: unknown, row: number): void {
    if (isScalar(value)) {
      node.column.addValue(value, row);
      return;
    }
    node.column.mark(objectSet, row);
    this.#enter(node.children, node, value as Readonly<Record<string, unknown>>, row);
  }

  /** The columns to keep. The one without a path comes first, if there is one. */
  chosen(): { path: string | null; column: Gathered }[] {
    const ranked = this.#nodes.toSorted((a, b) => b.column.rows - a.column.rows);
    for (const { column } of ranked.slice(columnsMax)) column.addRowsTo(this.#partial);
    const rest = new Gathered();
    for (const row of rowsIn(this.#partial, 0, rowsPerColumnGroup)) rest.mark(objectSet, row);
    for (const row of rowsIn(this.#unread, 0, rowsPerColumnGroup)) rest.mark(openSet, row);
    const kept = ranked.slice(0, columnsMax);
    return rest.rows === 0 ? kept : [{ path: null, column: rest }, ...kept];
  }
}
