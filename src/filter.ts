/**
 * Metadata filters: a MongoDB query document, checked once and compiled to a predicate.
 *
 * Semantics are the MongoDB server's:
 * - `{ field: value }` and `$eq` match the value, or an array that holds it; null also matches a missing field.
 * - `$gt`, `$gte`, `$lt`, `$lte` compare only values of one type, strings by code point; of an array, each element and
 *   the whole. `$gte` and `$lte` of null match null and missing fields.
 * - `$ne` and `$nin` match exactly what `$eq` and `$in` do not, so also documents without the field.
 * - `$exists: true` matches if the path reaches a value, null and empty arrays included; `$exists: false` matches if not.
 * - `$not` negates the operators of a field, or a whole filter; `$nor` matches where none of its filters does.
 * - `a.b` reaches into objects, into the objects of an array, and with a number into a position of an array; an array
 *   directly inside an array is entered by position only.
 * - Objects are equal when keys, values and the order of keys are; they and arrays are ordered as BSON orders them.
 *   (JavaScript itself moves keys that are whole numbers to the front, in metadata and filter alike.)
 *
 * Three things are not MongoDB's, but of other clients of the HTTP interface: `$contains` matches what `$eq` does, and a text that
 * the operand is a part of, unless the text is an element of an array; `$not` may stand where a path does; `$and` and `$nor` of no
 * filters match everything, `$or` of none matches nothing.
 *
 * References: mongodb.com/docs/manual/reference/operator/query, /tutorial/query-for-null-fields,
 * /reference/bson-type-comparison-order; the server's `src/mongo/db/matcher/path_test.cpp` for paths.
 */

import {
  hasPart,
  isObjectLike,
  isOneOf,
  isOrdered,
  isPresent,
  type JsonObject,
  someValue,
  type Test,
} from "./filter-match.js";
import {
  checkList,
  checkPart,
  checkValue,
  hasOperators,
  invalid,
  isPlainObject,
  member,
  typeName,
  type ValueCount,
} from "./filter-operand.js";

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
  readonly $exists?: boolean;
  readonly $contains?: boolean | number | string;
  readonly $not?: FieldOperators;
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
  readonly $nor?: readonly Filter[];
  readonly $not?: Filter;
}
interface Fields {
  /** Filters are here only because `$and` and `$not` are string keys too. */
  readonly [path: string]: Literal | FieldOperators | readonly Filter[] | Filter;
  readonly [operator: `$${string}`]: readonly Filter[] | Filter;
}

type ElsewhereOperator = "$regex" | "$text" | "$where" | "$expr";
/** No value is of this type; it is not `never`, so that a filter can still be spread into another. */
type NoOtherOperators = {
  readonly [operator in Exclude<keyof FieldOperators, "$not"> | ElsewhereOperator]?: readonly Filter[] &
    "$and or $or";
};

/**
 * A value that is typed as an interface, which has no index signature. What its fields hold is checked at run time; a
 * literal is checked against `Fields` all the same.
 */
type InterfaceTyped = object & { readonly [Symbol.iterator]?: never; readonly [Symbol.toPrimitive]?: never };

/**
 * Conditions on metadata, all of which must hold: `{ year: { $gte: 2000, $lt: 2010 }, "author.name": "Ann" }`. `{}`
 * matches everything. An object with `$` keys must hold operators only; to compare with such an object itself, use
 * `$eq`. Limits: filters nested 10 deep, 256 conditions, 10,000 values in each `$in` and `$nin`, 100,000 in all, texts of
 * 2,097,152 characters in all, paths of 100 parts and, together, 65,536 characters.
 */
export type Filter = LogicalOperators & NoOtherOperators & (Fields | InterfaceTyped);

/** Whether an item with this metadata matches. */
export type Predicate = (metadata: JsonObject) => boolean;

/** A checked filter as a tree, for evaluation over something other than one item's metadata. */
export type FilterNode =
  | { readonly kind: "and" | "or"; readonly children: readonly FilterNode[] }
  | FieldCondition;

export interface FieldCondition {
  readonly kind: "field";
  readonly path: readonly string[];
  /** What one of the values that the path reaches must pass; if `negated`, what none may pass. */
  readonly test: Test;
  readonly negated: boolean;
  /** Whether no value passes the test: `$in` and `$nin` of an empty array. */
  readonly impossible: boolean;
  /** What the values are compared with, as far as it is text. */
  readonly texts: readonly string[];
  /** Whether objects and arrays pass; undefined if that depends on what is in them. */
  readonly structures: boolean | undefined;
  /** Whether the test looks inside of texts, so that the beginning of one does not decide it. */
  readonly insideTexts: boolean;
}

/** A filter, checked and compiled. Equal texts: equal filters. */
export interface CompiledFilter {
  readonly text: string;
  readonly root: FilterNode;
  readonly matches: Predicate;
}

const depthMax = 10;
const nodesMax = 256;
/** What a condition costs grows with both, even if no item has such a path. */
const pathPartsMax = 100;
const pathCharactersMax = 65_536;

const operators = [
  "$eq",
  "$ne",
  "$gt",
  "$gte",
  "$lt",
  "$lte",
  "$in",
  "$nin",
  "$exists",
  "$contains",
] as const;
type Operator = (typeof operators)[number];

/**
 * Checks a filter and compiles it. What it gives keeps no reference to the filter, runs no code from it, and sees own
 * properties only, so `__proto__` or `constructor` are keys like any other. Throws `invalid_request` that says where
 * in the filter the offending part is.
 */
export function compileFilter(filter: unknown): CompiledFilter {
  const root = compileObject(filter, "filter", 1, {
    nodes: 0,
    values: 0,
    textCharacters: 0,
    pathCharacters: 0,
  });
  return { text: JSON.stringify(filter), root, matches: predicateOf(root) };
}

/** The filter as it is now, whatever its owner does with the object later. Throws as `compileFilter`. */
export function takeFilter(filter: Filter): Filter {
  return JSON.parse(compileFilter(filter).text) as Filter;
}

/** Whether every item matches, whatever its metadata. */
export function matchesEverything(node: FilterNode): boolean {
  if (node.kind === "field") return node.negated && node.impossible;
  return node.kind === "and" ? node.children.every(matchesEverything) : node.children.some(matchesEverything);
}

/** Whether an item with this metadata meets one condition. */
export function meets({ path, test, negated }: FieldCondition, metadata: JsonObject): boolean {
  return someValue(metadata, path, 0, test) !== negated;
}

function predicateOf(node: FilterNode): Predicate {
  if (node.kind === "field") return (metadata) => meets(node, metadata);
  const children = node.children.map(predicateOf);
  if (children.length === 1) return children[0];
  return node.kind === "and"
    ? (metadata) => children.every((child) => child(metadata))
    : (metadata) => children.some((child) => child(metadata));
}

interface Tally extends ValueCount {
  /** Conditions, `$and`, `$or` and empty objects so far. */
  nodes: number;
  /** Of the paths of all conditions. */
  pathCharacters: number;
}

function compileObject(filter: unknown, where: string, depth: number, tally: Tally): FilterNode {
  if (!isPlainObject(filter)) throw invalid(where, `expected an object, got ${typeName(filter)}`);
  if (depth > depthMax) throw invalid(where, `expected filters at most ${depthMax} deep`);
  const keys = Object.keys(filter);
  if (keys.length === 0) count(tally, where);
  return allOf(keys.map((key) => compileKey(key, filter[key], member(where, key), depth, tally)));
}

/** Operators over lists of filters. */
const lists = {
  $and: (children) => ({ kind: "and", children }),
  $or: (children) => ({ kind: "or", children }),
  $nor: (children) => negate({ kind: "or", children }),
} satisfies Record<string, (children: readonly FilterNode[]) => FilterNode>;

function compileKey(key: string, value: unknown, where: string, depth: number, tally: Tally): FilterNode {
  if (key === "$and" || key === "$or" || key === "$nor") {
    count(tally, where);
    if (!Array.isArray(value)) throw invalid(where, `expected an array of filters, got ${typeName(value)}`);
    return lists[key](
      Array.from(value, (child, i) => compileObject(child, `${where}[${i}]`, depth + 1, tally)),
    );
  }
  if (key === "$not") {
    count(tally, where);
    return negate(compileObject(value, where, depth + 1, tally));
  }
  if (key.startsWith("$")) {
    throw invalid(where, "unknown operator; expected $and, $or, $nor, $not or the path of a field");
  }
  const path = splitPath(key, where);
  const condition = (name: Operator, operand: unknown, at: string) => {
    count(tally, at);
    tally.pathCharacters += key.length;
    if (tally.pathCharacters > pathCharactersMax) {
      throw invalid(where, `expected at most ${pathCharactersMax} characters of paths in all`);
    }
    return compileCondition(path, name, operand, at, tally);
  };
  const compileOperators = (named: JsonObject, at: string): FilterNode =>
    allOf(
      Object.keys(named).map((name) => {
        const place = member(at, name);
        if (name !== "$not") return condition(checkOperator(name, place), named[name], place);
        return negate(compileOperators(checkNegated(named.$not, place), place));
      }),
    );
  return hasOperators(value) ? compileOperators(value, where) : condition("$eq", value, where);
}

function checkOperator(name: string, where: string): Operator {
  if (isOperator(name)) return name;
  if (name === "$regex") {
    throw invalid(
      where,
      "regular expressions are not supported; use $contains, or $gte and $lt for a prefix",
    );
  }
  const what = name.startsWith("$") ? "unknown operator" : "a plain key next to operators";
  throw invalid(where, `${what}; expected one of ${operators.join(", ")}, $not`);
}

/** The operators that a field's `$not` negates: not another `$not`, so that they are not nested without end. */
function checkNegated(operand: unknown, where: string): JsonObject {
  if (hasOperators(operand) && !Object.hasOwn(operand, "$not")) return operand;
  throw invalid(where, `expected an object with operators other than $not, got ${typeName(operand)}`);
}

/** By De Morgan: only conditions are negated, so that nothing else need know of it. */
function negate(node: FilterNode): FilterNode {
  if (node.kind === "field") return { ...node, negated: !node.negated };
  return { kind: node.kind === "and" ? "or" : "and", children: node.children.map(negate) };
}

/** The parts of a dotted path. Throws `invalid_request` for too many. */
export function splitPath(key: string, where: string): readonly string[] {
  const path = key.split(".", pathPartsMax + 1);
  if (path.length > pathPartsMax) throw invalid(where, `expected a path of at most ${pathPartsMax} parts`);
  return path;
}

function compileCondition(
  path: readonly string[],
  operator: Operator,
  operand: unknown,
  where: string,
  tally: Tally,
): FieldCondition {
  if (operator === "$exists") {
    if (typeof operand !== "boolean") throw invalid(where, `expected a boolean, got ${typeName(operand)}`);
    const negated = !operand;
    const always = { texts: [], structures: true, impossible: false, insideTexts: false };
    return { kind: "field", path, test: isPresent, negated, ...always };
  }
  const listed = operator === "$in" || operator === "$nin";
  if (listed) checkList(operand, where, tally);
  else checkValue(operand, where, tally);
  if (operator === "$contains") checkPart(operand, where);
  const operands = listed ? (operand as readonly unknown[]) : [operand];
  return {
    kind: "field",
    path,
    test: testFor(operator, operand),
    negated: operator === "$ne" || operator === "$nin",
    impossible: operands.length === 0,
    texts: operands.filter((value) => typeof value === "string"),
    structures: operands.some(isObjectLike) ? undefined : false,
    insideTexts: operator === "$contains" && typeof operand === "string",
  };
}

/** What one of the reached values must be; for `$ne` and `$nin`, what none must be. */
function testFor(operator: Exclude<Operator, "$exists">, operand: unknown): Test {
  if (operator === "$eq" || operator === "$ne") return isOneOf([operand]);
  if (operator === "$in" || operator === "$nin") return isOneOf(operand as unknown[]);
  if (operator === "$contains") return typeof operand === "string" ? hasPart(operand) : isOneOf([operand]);
  // A copy: later changes of the caller's object must change nothing.
  const bound: unknown = JSON.parse(JSON.stringify(operand));
  if (operator === "$gt") return isOrdered(bound, (order) => order > 0);
  if (operator === "$gte") return isOrdered(bound, (order) => order >= 0);
  if (operator === "$lt") return isOrdered(bound, (order) => order < 0);
  return isOrdered(bound, (order) => order <= 0);
}

function count(tally: Tally, where: string): void {
  if (++tally.nodes > nodesMax) throw invalid(where, `expected at most ${nodesMax} conditions in all`);
}

function allOf(children: readonly FilterNode[]): FilterNode {
  return children.length === 1 ? children[0] : { kind: "and", children };
}

function isOperator(name: string): name is Operator {
  return (operators as readonly string[]).includes(name);
}
