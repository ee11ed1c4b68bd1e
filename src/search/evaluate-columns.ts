/**
 * A filter over the metadata columns of a group of rows: which rows match for certain, and which may. Where the two
 * differ the columns cannot tell, and whoever asks looks at the rows' records.
 *
 * Three-valued logic (Kleene, 1938) over sets: `$and` and `$or` combine each of the two sets by itself, negation swaps
 * them. What columns hold, and what they leave open, is in segment/column.ts.
 */

import type { FieldCondition, FilterNode } from "../filter.js";
import {
  arraySet,
  type Column,
  type ColumnValue,
  isScalar,
  objectSet,
  openSet,
  valueSet,
} from "../segment/column.js";
import type { ColumnsOfGroup } from "../segment/column-reader.js";
import { addRows, allRows, keepRows, noRows, removeRows } from "../segment/row-bits.js";

/** Rows of a group as bits; `certain` is a part of `possible`. */
export interface Outcome {
  readonly certain: Uint32Array;
  readonly possible: Uint32Array;
}

/** The columns that a filter needs: those of its paths, of their prefixes, and the one without a path. */
export function pathsOf(node: FilterNode): Set<string | null> {
  const paths = new Set<string | null>([null]);
  const visit = (part: FilterNode) => {
    if (part.kind !== "field") part.parts.forEach(visit);
    else for (let length = 1; length <= part.path.length; length++) paths.add(prefix(part, length));
  };
  visit(node);
  return paths;
}

export function evaluateColumns(node: FilterNode, columns: ColumnsOfGroup, rows: number): Outcome {
  if (node.kind === "field") return evaluateField(node, columns, rows);
  const combine = node.kind === "and" ? keepRows : addRows;
  const neutral = node.kind === "and" ? allRows : noRows;
  const outcome = { certain: neutral(rows), possible: neutral(rows) };
  for (const part of node.parts) {
    const { certain, possible } = evaluateColumns(part, columns, rows);
    combine(outcome.certain, certain);
    combine(outcome.possible, possible);
  }
  return outcome;
}

function evaluateField(condition: FieldCondition, columns: ColumnsOfGroup, rows: number): Outcome {
  const certain = noRows(rows);
  const possible = noRows(rows);
  const rest = columns.get(null)?.();
  const column = columns.get(prefix(condition, condition.path.length))?.();
  if (column !== undefined) {
    column.values.forEach((value, i) => {
      const passes = passesValue(condition, value);
      if (passes === true) column.addTo(certain, valueSet(i));
      else if (passes === undefined) column.addTo(possible, valueSet(i));
    });
    column.addTo(possible, openSet);
    if (condition.structured) for (const set of [arraySet, objectSet]) column.addTo(possible, set);
  } else rest?.addTo(possible, objectSet);
  rest?.addTo(possible, openSet);

  // A position is entered in arrays only, and columns do not hold what is at it.
  for (const length of condition.positions) addArrays(possible, columns, prefix(condition, length));

  if (condition.test(null)) {
    const missing = allRows(rows);
    if (column !== undefined) removeRows(missing, members(column, rows));
    const unclear = possible.slice();
    // Where an array is on the way, some of its elements may have the field and others not, or it has none.
    for (let length = 1; length < condition.path.length; length++) {
      addArrays(unclear, columns, prefix(condition, length));
    }
    addRows(possible, missing);
    addRows(possible, unclear);
    removeRows(missing, unclear);
    addRows(certain, missing);
  }
  addRows(possible, certain);
  if (!condition.negated) return { certain, possible };
  return { certain: complement(possible, rows), possible: complement(certain, rows) };
}

/** The path of the first `length` parts. */
function prefix({ path }: FieldCondition, length: number): string {
  return path.slice(0, length).join(".");
}

/** Whether a value passes; undefined where too little of it is known. */
function passesValue({ test, texts }: FieldCondition, value: ColumnValue): boolean | undefined {
  if (isScalar(value)) return test(value);
  const [beginning] = value;
  if (texts.some((text) => text.length > beginning.length && text.startsWith(beginning))) return undefined;
  // Whatever follows: texts that part before the beginning's end compare alike, and shorter ones come first.
  return test(`${beginning} `);
}

/** Adds the rows that have an array at this path, or may have one. */
function addArrays(bits: Uint32Array, columns: ColumnsOfGroup, path: string): void {
  const column = columns.get(path)?.();
  if (column !== undefined) column.addTo(bits, arraySet);
  else columns.get(null)?.().addTo(bits, objectSet);
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
