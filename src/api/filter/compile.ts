/**
 * Metadata filters: a MongoDB query document, checked once and compiled to a predicate.
 *
 * Semantics are the MongoDB server's:
 * - `{ field: value }` and `$eq` match the value, or an array that holds it; null also matches a missing field.
 * - `$gt`, `$gte`, `$lt`, `$lte` compare only values of one type, strings by code point; of an array, each element and
 *   the whole. `$gte` and `$lte` of null match null and missing fields.
 * - `$ne` and `$nin` match exactly where `$eq` and `$in` do not, so also documents without the field.
 * - `$exists: true` matches if the path reaches a value, null and empty arrays included; `$exists: false` matches if not.
 * - `$not` negates the operators of a field, or a whole filter; `$nor` matches where none of its filters does.
 * - `a.b` reaches into objects, into the objects of an array, and with a number into a position of an array; an array
 *   directly inside an array is entered by position only.
 * - Objects are equal when keys, values and the order of keys are; they and arrays are ordered as BSON orders them.
 *   (JavaScript itself moves keys that are whole numbers to the front, in metadata and filter alike.)
 *
 * Three extensions serve other clients of the HTTP interface: `$contains` matches like `$eq`, and also texts that
 * contain the operand, unless the text is an element of an array; `$not` may stand where a path does; `$and` and `$nor` of no
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
} from "./match.js";
import {
  checkList,
  checkPart,
  checkValue,
  hasOperators,
  invalidFilter,
  isPlainObject,
  member,
  describeType,
  type ValueCount,
} from "./operands.js";

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

/** JSON without `$` keys, so that misplaced and unknown operators do not compile. */
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
  /** Filters are included only because `$and` and `$not` are string keys too. */
  readonly [path: string]: Literal | FieldOperators | readonly Filter[] | Filter;
  readonly [operator: `$${string}`]: readonly Filter[] | Filter;
}

type ElsewhereOperator = "$regex" | "$text" | "$where" | "$expr";
/** No value has this type. It is not `never`, so that filters can be spread into one another. */
type NoOtherOperators = {
  readonly [operator in Exclude<keyof FieldOperators, "$not"> | ElsewhereOperator]?: readonly Filter[] &
    "$and or $or";
};

/**
 * A value of an interface type, which has no index signature. Its fields are checked at run time;
 * literals are checked against `Fields`.
 */
type InterfaceTyped = object & { readonly [Symbol.iterator]?: never; readonly [Symbol.toPrimitive]?: never };

/**
 * Conditions on metadata, all of which must hold: `{ year: { $gte: 2000, $lt: 2010 },
 * "author.name": "Ann" }`. `{}` matches everything. Objects with `$` keys may have only operators;
 * use `$eq` to compare with such an object. Limits: nesting of 10, 256 conditions, 10,000 values
 * per `$in` and `$nin`, 100,000 in all, 2,097,152 characters of texts, paths of 100 parts and
 * 65,536 characters in all.
 */
export type Filter = LogicalOperators & NoOtherOperators & (Fields | InterfaceTyped);

export type Predicate = (metadata: JsonObject) => boolean;

/** A checked filter as a tree, for evaluation over columns. */
export type FilterNode =
  | { readonly kind: "and" | "or"; readonly children: readonly FilterNode[] }
  | FieldCondition;

export interface FieldCondition {
  readonly kind: "field";
  readonly path: readonly string[];
  /** The test that one of the reached values must pass; if `negated`, that none may pass. */
  readonly test: Test;
  readonly negated: boolean;
  /** True if no value can pass: `$in` and `$nin` of an empty array. */
  readonly impossible: boolean;
  /** The texts among the operands. */
  readonly texts: readonly string[];
  /** Whether objects and arrays pass; undefined if their content decides. */
  readonly structures: boolean | undefined;
  /** Whether the test looks inside texts, so that the beginning of a text does not decide it. */
  readonly insideTexts: boolean;
}

/** A checked and compiled filter. Equal texts mean equal filters. */
export interface CompiledFilter {
  readonly text: string;
  readonly root: FilterNode;
  readonly matches: Predicate;
}

const depthMax = 10;
const nodesMax = 256;
/** The cost of a condition grows with these, even if no item has such a path. */
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
 * Checks and compiles a filter. The result keeps no reference to the filter and runs no code of it.
 * Only own properties count, so `__proto__` and `constructor` are ordinary keys. Throws
 * `invalid_request` with the place of the problem.
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

/**
 * Copies the filter, so that later changes of the object have no effect. Throws like
 * `compileFilter`.
 */
export function takeFilter(filter: Filter): Filter {
  return JSON.parse(compileFilter(filter).text) as Filter;
}

/** Whether every item matches, whatever its metadata. */
export function matchesEverything(node: FilterNode): boolean {
  if (node.kind === "field") return node.negated && node.impossible;
  return node.kind === "and" ? node.children.every(matchesEverything) : node.children.some(matchesEverything);
}

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
  /** Conditions, `$and`, `$or` and empty objects. */
  nodes: number;
  /** Characters of all conditions' paths. */
  pathCharacters: number;
}

function compileObject(filter: unknown, where: string, depth: number, tally: Tally): FilterNode {
  if (!isPlainObject(filter)) throw invalidFilter(where, `expected an object, got ${describeType(filter)}`);
  if (depth > depthMax) throw invalidFilter(where, `expected filters at most ${depthMax} deep`);
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
    if (!Array.isArray(value))
      throw invalidFilter(where, `expected an array of filters, got ${describeType(value)}`);
    return lists[key](
      Array.from(value, (child, i) => compileObject(child, `${where}[${i}]`, depth + 1, tally)),
    );
  }
  if (key === "$not") {
    count(tally, where);
    return negate(compileObject(value, where, depth + 1, tally));
  }
  if (key.startsWith("$")) {
    throw invalidFilter(where, "unknown operator; expected $and, $or, $nor, $not or the path of a field");
  }
  const path = splitPath(key, where);
  const condition = (name: Operator, operand: unknown, at: string) => {
    count(tally, at);
    tally.pathCharacters += key.length;
    if (tally.pathCharacters > pathCharactersMax) {
      throw invalidFilter(where, `expected at most ${pathCharactersMax} characters of paths in all`);
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
    throw invalidFilter(
      where,
      "regular expressions are not supported; use $contains, or $gte and $lt for a prefix",
    );
  }
  const what = name.startsWith("$") ? "unknown operator" : "a plain key next to operators";
  throw invalidFilter(where, `${what}; expected one of ${operators.join(", ")}, $not`);
}

/** The operators that `$not` negates. Nested `$not` is refused. */
function checkNegated(operand: unknown, where: string): JsonObject {
  if (hasOperators(operand) && !Object.hasOwn(operand, "$not")) return operand;
  throw invalidFilter(
    where,
    `expected an object with operators other than $not, got ${describeType(operand)}`,
  );
}

/** By De Morgan's laws only conditions are negated, so that evaluation needs no other negation. */
function negate(node: FilterNode): FilterNode {
  if (node.kind === "field") return { ...node, negated: !node.negated };
  return { kind: node.kind === "and" ? "or" : "and", children: node.children.map(negate) };
}

/** Splits a dotted path. Throws `invalid_request` for too many parts. */
export function splitPath(key: string, where: string): readonly string[] {
  const path = key.split(".", pathPartsMax + 1);
  if (path.length > pathPartsMax)
    throw invalidFilter(where, `expected a path of at most ${pathPartsMax} parts`);
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
    if (typeof operand !== "boolean")
      throw invalidFilter(where, `expected a boolean, got ${describeType(operand)}`);
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

/** The test of a reached value; for `$ne` and `$nin`, of its negation. */
function testFor(operator: Exclude<Operator, "$exists">, operand: unknown): Test {
  if (operator === "$eq" || operator === "$ne") return isOneOf([operand]);
  if (operator === "$in" || operator === "$nin") return isOneOf(operand as unknown[]);
  if (operator === "$contains") return typeof operand === "string" ? hasPart(operand) : isOneOf([operand]);
  // A copy, since the caller may change the object.
  const bound: unknown = JSON.parse(JSON.stringify(operand));
  if (operator === "$gt") return isOrdered(bound, (order) => order > 0);
  if (operator === "$gte") return isOrdered(bound, (order) => order >= 0);
  if (operator === "$lt") return isOrdered(bound, (order) => order < 0);
  return isOrdered(bound, (order) => order <= 0);
}

function count(tally: Tally, where: string): void {
  if (++tally.nodes > nodesMax) throw invalidFilter(where, `expected at most ${nodesMax} conditions in all`);
}

function allOf(children: readonly FilterNode[]): FilterNode {
  return children.length === 1 ? children[0] : { kind: "and", children };
}

function isOperator(name: string): name is Operator {
  return (operators as readonly string[]).includes(name);
}
