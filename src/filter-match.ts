/**
 * How a filter's conditions see metadata: which values a dotted path reaches, which of them are equal, and how BSON
 * orders them. Follows the MongoDB server (`src/mongo/db/matcher/path.cpp` and
 * mongodb.com/docs/manual/reference/bson-type-comparison-order) for the types that JSON has.
 */

export type JsonObject = Readonly<Record<string, unknown>>;

/** A condition's verdict on one value, which may be one element of an array; undefined stands for a missing field. */
export type Test = (value: unknown, isElement?: boolean) => boolean;

export function isObjectLike(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Whether a value that the path from part `at` on reaches passes. */
export function someValue(object: JsonObject, path: readonly string[], at: number, test: Test): boolean {
  const value = Object.hasOwn(object, path[at]) ? object[path[at]] : undefined;
  const next = at + 1;
  if (Array.isArray(value)) return someElement(value, path, next, test);
  if (next === path.length) return test(value);
  return isObjectLike(value) ? someValue(value as JsonObject, path, next, test) : test(undefined);
}

/** As `someValue`, for the rest of a path that led to `array`. What it cannot enter is not even missing. */
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

/** The position of an array that a part of a path can mean. */
export function positionOf(part: string): number | undefined {
  return /^(?:0|[1-9][0-9]{0,14})$/.test(part) ? Number(part) : undefined;
}

export function isPresent(value: unknown): boolean {
  return value !== undefined;
}

/**
 * Whether a value is equal to one of `values`. Objects and arrays are held as JSON text, which is equal exactly
 * when they are, key order included.
 */
export function isOneOf(values: readonly unknown[]): Test {
  const scalars = new Set(values.filter((value) => !isObjectLike(value)));
  const texts = new Set(values.filter(isObjectLike).map((value) => JSON.stringify(value)));
  return (value) =>
    isObjectLike(value)
      ? texts.size > 0 && texts.has(JSON.stringify(value))
      : scalars.has(value === undefined ? null : value);
}

/** Whether a value is a text that `part` is a part of; an element of an array has to be equal. */
export function hasPart(part: string): Test {
  return (value, isElement = false) =>
    typeof value === "string" && (isElement ? value === part : value.includes(part));
}

/** Whether a value is of the type of `bound` and `holds` accepts their order: <0, 0 or >0. */
export function isOrdered(bound: unknown, holds: (order: number) => boolean): Test {
  const type = typeRank(bound);
  return (value) => typeRank(value) === type && holds(compareValues(value, bound));
}

/** BSON's order of values that are no objects. */
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

/** BSON's order of two values of one type. Objects: entry by entry, each by type, then key, then value. */
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

/** By code point, which is the byte order of UTF-8; `<` would put U+FF5E after U+1F600. */
function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return aboveSurrogates(x) - aboveSurrogates(y);
  }
  return a.length - b.length;
}

/** Moves surrogates, which stand for code points from U+10000 on, above all other UTF-16 units. */
function aboveSurrogates(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}
