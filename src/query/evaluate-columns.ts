/**
 * A filter over the metadata columns of a group of rows: which rows match for certain, and which may. If the two differ,
 * the columns cannot tell, and the caller looks at the rows' records.
 *
 * Three-valued logic (Kleene, 1938) over sets: `$and` and `$or` combine each of the two sets by itself, negation swaps
 * them. The content of columns, and values that they leave open, are in state/segment/columns.ts.
 */

import type { Work } from "../engine/work.js";
import type { FieldCondition, FilterNode } from "../api/filter/compile.js";
import { positionOf } from "../api/filter/match.js";
import {
  arraySet,
  type Column,
  type ColumnValue,
  isScalar,
  objectSet,
  openSet,
  textMax,
  valueSet,
} from "../state/segment/columns.js";
import type { ColumnsOfGroup } from "../state/segment/column-reader.js";
import { addRows, allRows, keepRows, noRows, removeRows } from "../state/segment/row-bits.js";

/** Rows of a group as bits; `certain` is a part of `possible`. */
export interface Outcome {
  readonly certain: Uint32Array;
  readonly possible: Uint32Array;
}

/** The columns on the way along a path. */
interface ColumnPath {
  /** The first part of the path, the first two, and so on to the whole, joined by dots. */
  readonly prefixes: readonly string[];
  /** Of `prefixes`, the numbers of those after which the next part can be a position of an array. */
  readonly positions: readonly number[];
}

/** Made once per condition: a long path takes as long as many groups of rows. */
const columnPaths = new WeakMap<FieldCondition, ColumnPath>();

function columnPathOf(condition: FieldCondition): ColumnPath {
  const known = columnPaths.get(condition);
  if (known !== undefined) return known;
  const { path } = condition;
  const columnPath = {
    prefixes: prefixesOf(path),
    positions: [...path.keys()].filter((i) => positionOf(path[i + 1]) !== undefined),
  };
  columnPaths.set(condition, columnPath);
  return columnPath;
}

/** Beginnings of one text, which take no copies: a path has up to 100 parts. */
function prefixesOf(path: readonly string[]): string[] {
  const whole = path.join(".");
  let end = -1;
  return path.map((part) => whole.slice(0, (end += 1 + part.length)));
}

/** The columns that a filter needs: those of its paths, of their prefixes, and the one without a path. */
export function pathsOf(node: FilterNode): Set<string | null> {
  const paths = new Set<string | null>([null]);
  const visit = (child: FilterNode) => {
    if (child.kind !== "field") child.children.forEach(visit);
    else for (const path of columnPathOf(child).prefixes) paths.add(path);
  };
  visit(node);
  return paths;
}

/** Pauses after each condition, which takes up to some milliseconds. */
export function* evaluateColumns(node: FilterNode, columns: ColumnsOfGroup, rows: number): Work<Outcome> {
  if (node.kind === "field") {
    const outcome = evaluateField(node, columns, rows);
    yield;
    return outcome;
  }
  const combine = node.kind === "and" ? keepRows : addRows;
  const neutral = node.kind === "and" ? allRows : noRows;
  const outcome = { certain: neutral(rows), possible: neutral(rows) };
  for (const child of node.children) {
    const { certain, possible } = yield* evaluateColumns(child, columns, rows);
    combine(outcome.certain, certain);
    combine(outcome.possible, possible);
  }
  return outcome;
}

function evaluateField(condition: FieldCondition, columns: ColumnsOfGroup, rows: number): Outcome {
  const { test, structures, insideTexts } = condition;
  const { prefixes, positions } = columnPathOf(condition);
  const certain = noRows(rows);
  const possible = noRows(rows);
  const rest = columns.get(null)?.();
  const column = columns.get(prefixes[prefixes.length - 1])?.();
  if (column !== undefined) {
    const passes = valueTest(condition);
    const unlessElements = insideTexts ? noRows(rows) : undefined;
    column.values.forEach((value, i) => {
      const passed = passes(value);
      if (passed === false) return;
      const isSure = unlessElements === undefined || passed === undefined || test(value, true);
      if (isSure) column.addTo(passed === true ? certain : possible, valueSet(i));
      else column.addTo(unlessElements, valueSet(i));
    });
    if (unlessElements !== undefined) {
      addRows(possible, unlessElements);
      // In an array, the text may be one of its elements.
      removeRows(unlessElements, membersOf(column, arraySet, rows));
      addRows(certain, unlessElements);
    }
    column.addTo(possible, openSet);
    if (structures !== false) {
      for (const set of [arraySet, objectSet]) column.addTo(structures === true ? certain : possible, set);
    }
  } else rest?.addTo(possible, objectSet);
  rest?.addTo(possible, openSet);

  // A position is entered in arrays only, and columns do not hold elements by position.
  for (const i of positions) addArrays(possible, columns, prefixes[i]);

  if (test(undefined)) {
    const missing = allRows(rows);
    if (column !== undefined) removeRows(missing, members(column, rows));
    const unclear = possible.slice();
    // If an array is on the way, some of its elements may have the field and others not, or it has none.
    for (const path of prefixes.slice(0, -1)) addArrays(unclear, columns, path);
    addRows(possible, missing);
    addRows(possible, unclear);
    removeRows(missing, unclear);
    addRows(certain, missing);
  }
  addRows(possible, certain);
  if (!condition.negated) return { certain, possible };
  return { certain: complement(possible, rows), possible: complement(certain, rows) };
}

/** Tests whether a column's value passes; undefined if too little of the value is known. */
function valueTest({
  test,
  texts,
  insideTexts,
}: FieldCondition): (value: ColumnValue) => boolean | undefined {
  const beginnings = new Set<string>();
  for (const text of texts) if (text.length > textMax) beginnings.add(text.slice(0, textMax));
  return (value) => {
    if (isScalar(value)) return test(value);
    const [beginning] = value;
    if (insideTexts) return undefined;
    if (beginnings.has(beginning)) return undefined;
    // Whatever follows: texts that part before the beginning's end compare alike, and shorter ones come first.
    return test(`${beginning} `);
  };
}

/** Adds the rows that have an array at this path, or may have one. */
function addArrays(bits: Uint32Array, columns: ColumnsOfGroup, path: string): void {
  const column = columns.get(path)?.();
  if (column !== undefined) column.addTo(bits, arraySet);
  else columns.get(null)?.().addTo(bits, objectSet);
}

function membersOf(column: Column, set: number, rows: number): Uint32Array {
  const bits = noRows(rows);
  column.addTo(bits, set);
  return bits;
}

function members(column: Column, rows: number): Uint32Array {
  const bits = noRows(rows);
  for (let set = 0; set < column.sets; set++) column.addTo(bits, set);
  return bits;
}

function complement(bits: Uint32Array, rows: number): Uint32Array {
  const rest = allRows(rows);
  removeRows(rest, bits);
  return rest;
}
