/**
 * Metadata filters: a MongoDB query document with ten operators, checked once and compiled to a predicate.
 *
 * Semantics are the MongoDB server's:
 * - `{ field: value }` and `$eq` match the value, or an array that holds it; null also matches a missing field.
 * - `$gt`, `$gte`, `$lt`, `$lte` compare only values of one type, strings by code point; of an array, each element and
 *   the whole. `$gte` and `$lte` of null match null and missing fields.
 * - `$ne` and `$nin` match exactly what `$eq` and `$in` do not, so also documents without the field.
 * - `a.b` reaches into objects, into the objects of an array, and with a number into a position of an array; an array
 *   directly inside an array is entered by position only.
 * - Objects are equal when keys, values and the order of keys are; they and arrays are ordered as BSON orders them.
 *   (JavaScript itself moves keys that are whole numbers to the front, in metadata and filter alike.)
 *
 * References: mongodb.com/docs/manual/reference/operator/query, /tutorial/query-for-null-fields,
 * /reference/bson-type-comparison-order; the server's `src/mongo/db/matcher/path_test.cpp` for paths.
 */

import { SealdexError } from "./errors.js";
import {
  isObjectLike,
  isOneOf,
  isOrdered,
  type JsonObject,
  positionOf,
  someValue,
  type Test,
} from "./filter-match.js";

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

interface FieldOperators {
  readonly $eq?: Json;
  readonly $ne?: Json;
  readonly $gt?: Json;
  readonly $gte?: Json;
  readonly $lt?: Json;
  readonly $lte?: Json;
  readonly $in?: readonly Json[];
  readonly $nin?: readonly Json[];
}

/** JSON without `$` keys: an operator in the wrong place, or one that does not exist, fails to compile. */
type Literal = null | boolean | number | string | readonly Literal[] | LiteralObject;
interface NoOperators {
  readonly [operator: `$${string}`]: never;
}
type LiteralObject = { readonly [key: string]: Literal } & {
  readonly [operator in keyof FieldOperators]?: never;
} & NoOperators;

interface LogicalOperators {
  readonly $and?: readonly Filter[];
  readonly $or?: readonly Filter[];
}
interface Fields {
  /** The array of filters is here only because `$and` and `$or` are string keys too. */
  readonly [path: string]: Literal | FieldOperators | readonly Filter[];
}

type ElsewhereOperator = "$nor" | "$not" | "$exists" | "$regex" | "$text" | "$where" | "$expr";
/** No value is of this type; it is not `never`, so that a filter can still be spread into another. */
type NoOtherOperators = {
  readonly [operator in keyof FieldOperators | ElsewhereOperator]?: readonly Filter[] & "$and or $or";
};

/**
 * Conditions on metadata, all of which must hold: `{ year: { $gte: 2000, $lt: 2010 }, "author.name": "Ann" }`. `{}`
 * matches everything. An object with `$` keys must hold operators only; to compare with such an object itself, use
 * `$eq`. Limits: filters nested 10 deep, 256 conditions, 10,000 values in `$in` and `$nin`.
 */
export type Filter = LogicalOperators & Fields & NoOtherOperators;

/** Whether an item with this metadata matches. */
export type Predicate = (metadata: JsonObject) => boolean;

/** A checked filter as a tree, for evaluation over something other than one item's metadata. */
export type FilterNode =
  | { readonly kind: "and" | "or"; readonly parts: readonly FilterNode[] }
  | FieldCondition;

export interface FieldCondition {
  readonly kind: "field";
  readonly path: readonly string[];
  /** How many parts of the path precede each of its parts, the first excepted, that is a position of an array. */
  readonly positions: readonly number[];
  /** What one of the values that the path reaches must pass; if `negated`, what none may pass. */
  readonly test: Test;
  readonly negated: boolean;
  /** What the values are compared with, as far as it is text. */
  readonly texts: readonly string[];
  /** Whether they are also compared with an object or an array. */
  readonly structured: boolean;
}

/** A filter, checked and compiled. Equal texts: equal filters. */
export interface CompiledFilter {
  readonly text: string;
  readonly root: FilterNode;
  readonly matches: Predicate;
}

const depthMax = 10;
const nodesMax = 256;
const listValuesMax = 10_000;
/** Nesting of a value to compare with: as deep as metadata may be. */
const valueDepthMax = 32;

const operators = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"] as const;
type Operator = (typeof operators)[number];

/**
 * Checks a filter and compiles it. What it gives keeps no reference to the filter, runs no code from it, and sees own
 * properties only, so `__proto__` or `constructor` are keys like any other. Throws `invalid_request` that says where
 * in the filter the offending part is.
 */
export function compileFilter(filter: unknown): CompiledFilter {
  const root = compileObject(filter, "filters", 1, { nodes: 0 });
  return { text: JSON.stringify(filter), root, matches: predicateOf(root) };
}

function predicateOf(node: FilterNode): Predicate {
  if (node.kind === "field") {
    const { path, test, negated } = node;
    return (metadata) => someValue(metadata, path, 0, test) !== negated;
  }
  const parts = node.parts.map(predicateOf);
  if (parts.length === 1) return parts[0];
  return node.kind === "and"
    ? (metadata) => parts.every((part) => part(metadata))
    : (metadata) => parts.some((part) => part(metadata));
}

interface Tally {
  /** Conditions, `$and`, `$or` and empty objects so far. */
  nodes: number;
}

function compileObject(filter: unknown, where: string, depth: number, tally: Tally): FilterNode {
  if (!isPlainObject(filter)) throw invalid(where, `expected an object, got ${typeName(filter)}`);
  if (depth > depthMax) throw invalid(where, `expected filters at most ${depthMax} deep`);
  const keys = Object.keys(filter);
  if (keys.length === 0) count(tally, where);
  return allOf(keys.map((key) => compileKey(key, filter[key], member(where, key), depth, tally)));
}

function compileKey(key: string, value: unknown, where: string, depth: number, tally: Tally): FilterNode {
  if (key === "$and" || key === "$or") {
    count(tally, where);
    if (!Array.isArray(value) || value.length === 0) {
      throw invalid(where, `expected an array of at least one filter, got ${typeName(value)}`);
    }
    const parts = Array.from(value, (part, i) => compileObject(part, `${where}[${i}]`, depth + 1, tally));
    return { kind: key === "$and" ? "and" : "or", parts };
  }
  if (key.startsWith("$")) {
    throw invalid(where, "unknown operator; expected $and, $or or the path of a field");
  }
  const path = key.split(".");
  if (!hasOperators(value)) {
    count(tally, where);
    return compileCondition(path, "$eq", value, where);
  }
  return allOf(
    Object.keys(value).map((name) => {
      const at = member(where, name);
      count(tally, at);
      if (!isOperator(name)) {
        const what = name.startsWith("$") ? "unknown operator" : "a plain key beside operators";
        throw invalid(at, `${what}; expected one of ${operators.join(", ")}`);
      }
      return compileCondition(path, name, value[name], at);
    }),
  );
}

function compileCondition(
  path: readonly string[],
  operator: Operator,
  operand: unknown,
  where: string,
): FieldCondition {
  const listed = operator === "$in" || operator === "$nin";
  if (listed) checkList(operand, where);
  else checkValue(operand, where);
  const operands = listed ? (operand as readonly unknown[]) : [operand];
  return {
    kind: "field",
    path,
    positions: [...path.keys()].filter((at) => at > 0 && positionOf(path[at]) !== undefined),
    test: testFor(operator, operand),
    negated: operator === "$ne" || operator === "$nin",
    texts: operands.filter((value) => typeof value === "string"),
    structured: operands.some(isObjectLike),
  };
}

/** What one of the reached values must be; for `$ne` and `$nin`, what none must be. */
function testFor(operator: Operator, operand: unknown): Test {
  if (operator === "$eq" || operator === "$ne") return isOneOf([operand]);
  if (operator === "$in" || operator === "$nin") return isOneOf(operand as unknown[]);
  // A copy: later changes of the caller's object must change nothing.
  const bound: unknown = JSON.parse(JSON.stringify(operand));
  if (operator === "$gt") return isOrdered(bound, (order) => order > 0);
  if (operator === "$gte") return isOrdered(bound, (order) => order >= 0);
  if (operator === "$lt") return isOrdered(bound, (order) => order < 0);
  return isOrdered(bound, (order) => order <= 0);
}

/** `{ $in: [{ $gt: 5 }] }` is an error, as in MongoDB: it would never do what it seems to say. */
function checkList(list: unknown, where: string): void {
  if (!Array.isArray(list)) throw invalid(where, `expected an array, got ${typeName(list)}`);
  if (list.length > listValuesMax) {
    throw invalid(where, `expected at most ${listValuesMax} values, got ${list.length}`);
  }
  for (let i = 0; i < list.length; i++) {
    if (hasOperators(list[i])) {
      throw invalid(`${where}[${i}]`, "expected a value, got an object with operators");
    }
  }
  checkValue(list, where);
}

function checkValue(value: unknown, where: string): void {
  const fault = faultOf(value, 0);
  if (fault !== null) throw new SealdexError("invalid_request", where + fault);
}

/** Where inside `value`, and why, it is not a JSON value; or null. */
function faultOf(value: unknown, depth: number): string | null {
  if (depth > valueDepthMax) return `: expected values at most ${valueDepthMax} deep`;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const fault = faultOf(value[i], depth + 1);
      if (fault !== null) return `[${i}]${fault}`;
    }
    return null;
  }
  if (isPlainObject(value)) {
    for (const key of Object.keys(value)) {
      const fault = faultOf(value[key], depth + 1);
      if (fault !== null) return member("", key) + fault;
    }
    return null;
  }
  const isScalar = value === null || typeof value === "string" || typeof value === "boolean";
  return isScalar || Number.isFinite(value) ? null : `: expected a JSON value, got ${typeName(value)}`;
}

function count(tally: Tally, where: string): void {
  if (++tally.nodes > nodesMax) throw invalid(where, `expected at most ${nodesMax} conditions in all`);
}

function allOf(parts: readonly FilterNode[]): FilterNode {
  return parts.length === 1 ? parts[0] : { kind: "and", parts };
}

function hasOperators(value: unknown): value is JsonObject {
  return isPlainObject(value) && Object.keys(value).some((key) => key.startsWith("$"));
}

function isOperator(name: string): name is Operator {
  return (operators as readonly string[]).includes(name);
}

/** An object literal or its like, of any realm; no Date, Map or instance of a class. */
function isPlainObject(value: unknown): value is JsonObject {
  if (!isObjectLike(value) || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function member(where: string, key: string): string {
  return /^[\p{L}\p{N}_$.-]{1,100}$/u.test(key)
    ? `${where}.${key}`
    : `${where}[${JSON.stringify(key.slice(0, 100))}]`;
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  if (isObjectLike(value) && !isPlainObject(value)) return "an instance of a class";
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : typeof value;
}

function invalid(where: string, message: string): SealdexError {
  return new SealdexError("invalid_request", `${where}: ${message}`);
}
