/**
 * Applies a filter's conditions to metadata: the values that a dotted path reaches, their equality,
 * and BSON's order. Follows the MongoDB server (`src/mongo/db/matcher/path.cpp` and
 * mongodb.com/docs/manual/reference/bson-type-comparison-order) for JSON types.
 */

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * A condition on one value, which may be an element of an array; undefined means a missing field.
 */
export type Test = (value: unknown, isElement?: boolean) => boolean;

export function isObjectLike(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Whether any value that the path reaches, from part `at` on, passes. */
export function someValue(object: JsonObject, path: readonly string[], at: number, test: Test): boolean {
  const value = Object.hasOwn(object, path[at]) ? object[path[at]] : undefined;
  const next = at + 1;
  if (Array.isArray(value)) return someElement(value, path, next, test);
  if (next === path.length) return test(value);
  return isObjectLike(value) ? someValue(value as JsonObject, path, next, test) : test(undefined);
}

/**
 * Like `someValue`, for the rest of a path that led to `array`. An element that it cannot enter
 * does not even count as missing.
 */
function someElement(array: readonly unknown[], path: readonly string[], at: number, test: Test): boolean {
  if (at === path.length) return array.some((element) => test(element, true)) || test(array);
  for (const element of array) {
    if (!isObjectLike(element) || Array.isArray(element)) continue;
    if (someValue(element as JsonObject, path, at, test)) return true;
  }
  const position = positionOf(path[at]);
  if (position === undefined || position >= array.length) return false;
  const element = array[position];
  const next = at + 1;
  if (next === path.length) return test(element);
  if (Array.isArray(element)) return someElement(element, path, next, test);
  return isObjectLike(element) && someValue(element as JsonObject, path, next, test);
}

/** The array position that a part of a path may mean. */
export function positionOf(part: string): number | undefined {
  return /^(?:0|[1-9][0-9]{0,14})$/.test(part) ? Number(part) : undefined;
}

export function isPresent(value: unknown): boolean {
  return value !== undefined;
}

/**
 * Whether a value equals one of `values`. Objects and arrays are compared as JSON text, including
 * the order of keys.
 */
export function isOneOf(values: readonly unknown[]): Test {
  const scalars = new Set(values.filter((value) => !isObjectLike(value)));
  const texts = new Set(values.filter(isObjectLike).map((value) => JSON.stringify(value)));
  return (value) =>
    isObjectLike(value)
      ? texts.size > 0 && texts.has(JSON.stringify(value))
      : scalars.has(value === undefined ? null : value);
}

/** Whether a text contains `part`; elements of arrays have to be equal. */
export function hasPart(part: string): Test {
  return (value, isElement = false) =>
    typeof value === "string" && (isElement ? value === part : value.includes(part));
}

/** Whether a value has the type of `bound`, and `holds` accepts their order: <0, 0 or >0. */
export function isOrdered(bound: unknown, holds: (order: number) => boolean): Test {
  const type = typeRank(bound);
  return (value) => typeRank(value) === type && holds(compareValues(value, bound));
}

/** BSON's order of scalar values. */
export function compareScalars(a: unknown, b: unknown): number {
  return typeRank(a) - typeRank(b) || compareValues(a, b);
}

/** BSON's order of types. */
function typeRank(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (typeof value === "number") return 1;
  if (typeof value === "string") return 2;
  if (typeof value === "boolean") return 5;
  return Array.isArray(value) ? 4 : 3;
}

/**
 * BSON's order of two values of one type. Objects compare entry by entry, each by type, key, then
 * value.
 */
function compareValues(a: unknown, b: unknown): number {
  if (typeof a === "string") return compareStrings(a, b as string);
  if (!isObjectLike(a)) return Number(a ?? 0) - Number(b ?? 0);
  const left: [string, unknown][] = Object.entries(a);
  const right: [string, unknown][] = Object.entries(b as object);
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const [leftKey, leftValue] = left[i];
    const [rightKey, rightValue] = right[i];
    const order =
      typeRank(leftValue) - typeRank(rightValue) ||
      compareStrings(leftKey, rightKey) ||
      compareValues(leftValue, rightValue);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** By code point, the byte order of UTF-8; `<` would put U+FF5E after U+1F600. */
function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return aboveSurrogates(x) - aboveSurrogates(y);
  }
  return a.length - b.length;
}

/** Moves surrogates, which encode code points from U+10000 on, above all other UTF-16 units. */
function aboveSurrogates(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}
