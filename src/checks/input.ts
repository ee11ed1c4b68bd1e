/**
 * Checks arguments of the embedded index and of the HTTP client. Messages give the expected and the
 * received type, never the content.
 */

import { dimensionMax } from "../engine/config.js";
import { SealdexError } from "../errors.js";
import { isDate, isFloat32Array, isMapOrSet } from "./value-kinds.js";

/**
 * Throws `invalid_request` for anything but a vector, and `dimension_mismatch` for an impossible
 * length.
 */
export function checkVectorShape(
  vector: unknown,
  where: string,
): asserts vector is readonly number[] | Float32Array {
  if (!isVector(vector)) {
    throw invalid(`${where}: expected an array of numbers or a Float32Array, got ${typeName(vector)}`);
  }
  if (vector.length === 0 || vector.length > dimensionMax) {
    throw new SealdexError(
      "dimension_mismatch",
      `${where}: expected 1 to ${dimensionMax} numbers, got ${vector.length}`,
    );
  }
}

/** Whether a value has the form of a vector; components are not checked. */
export function isVector(value: unknown): value is readonly number[] | Float32Array {
  return Array.isArray(value) || isFloat32Array(value);
}

/** Returns component `i` of a vector. Throws `invalid_request` unless it is finite as float32. */
export function checkFloat32(value: unknown, where: string, i: number): number {
  if (typeof value === "number" && Number.isFinite(Math.fround(value))) return value;
  const received =
    typeof value === "number" && Number.isFinite(value) ? "a number too large" : typeName(value);
  throw invalid(`${where}[${i}]: expected a number that is finite as float32, got ${received}`);
}

/** Throws `invalid_request` for anything but well-formed text. */
export function checkText(value: unknown, where: string): asserts value is string {
  if (typeof value !== "string") throw invalid(`${where}: expected a string, got ${typeName(value)}`);
  if (/\p{Cs}/u.test(value)) throw invalid(`${where}: expected well-formed text, got a lone surrogate`);
}

/** Ids, and namespaces. */
const idBytesMax = 512;
const utf8 = new TextEncoder();

export function checkIdText(id: unknown, where: string): asserts id is string {
  checkText(id, where);
  // A character of UTF-16 takes at most 3 bytes.
  const bytes = 3 * id.length <= idBytesMax ? id.length : utf8.encode(id).length;
  if (bytes === 0 || bytes > idBytesMax) {
    throw invalid(`${where}: expected 1 to ${idBytesMax} bytes of UTF-8, got ${bytes}`);
  }
}

export function checkInteger(
  value: unknown,
  min: number,
  max: number,
  where: string,
): asserts value is number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) {
    const received = typeof value === "number" ? String(value) : typeName(value);
    throw invalid(`${where}: expected an integer from ${min} to ${max}, got ${received}`);
  }
}

/**
 * Returns the value as JSON text. Throws `invalid_request` if JSON would lose or change something:
 * NaN, bigints, cycles, dates, maps and other class instances, objects with `toJSON`. Undefined
 * properties are dropped.
 */
export function losslessJson(value: unknown, where: string): string {
  try {
    checkLossless(value, where, "", false);
    return JSON.stringify(value);
  } catch (cause) {
    if (cause instanceof SealdexError) throw cause;
    throw new SealdexError("invalid_request", `${where}: expected JSON values, got a cycle or deep nesting`, {
      cause,
    });
  }
}

/** An own walk: `JSON.stringify` with a replacer takes five times as long. */
function checkLossless(value: unknown, where: string, key: string | number, isElement: boolean): void {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return;
  if (typeof value === "number" && Number.isFinite(value)) return;
  if (value === undefined && !isElement) return;
  if (typeof value !== "object") {
    throw invalid(`${where}: expected JSON values, got ${typeName(value)}${under(key)}`);
  }
  if (!isPlain(value)) {
    throw invalid(`${where}: expected JSON values, got ${instanceName(value)}${under(key)}`);
  }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) checkLossless(value[i], where, i, true);
    return;
  }
  const object = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(object)) checkLossless(object[name], where, name, false);
}

/**
 * Returns the value as JSON text. Throws `invalid_request` for bigints and cycles. `where` names it
 * in messages.
 */
export function jsonText(value: unknown, where: string): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new SealdexError("invalid_request", `${where}: expected JSON values`, { cause });
  }
}

/** Whether JSON preserves an object: an array, or an object literal of any realm. */
export function isPlain(value: object): boolean {
  if ("toJSON" in value && typeof value.toJSON === "function") return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function under(key: string | number): string {
  return key === "" ? "" : ` under ${JSON.stringify(String(key).slice(0, 100))}`;
}

/** Like `Array.isArray`, which turns the elements of a readonly array into `any`. */
export function isArray(value: unknown): boolean {
  return Array.isArray(value);
}

/**
 * Returns the only one of `names` with a value. Throws `invalid_request` for none or several, with
 * a message that starts with `expected`.
 */
export function onlyOneOf<K extends string>(
  values: Readonly<Partial<Record<K, unknown>>>,
  names: readonly K[],
  expected: string,
): K {
  const present = names.filter((name) => (values[name] ?? undefined) !== undefined);
  if (present.length === 1) return present[0];
  throw invalid(`${expected}, got ${present.length === 0 ? "none" : present.join(" and ")}`);
}

const querySubjects = ["queryVector", "queryVectors", "queryContents"] as const;

/** Throws `invalid_request` unless exactly one of the three is present. */
export function onlySubjectOf(
  query: Readonly<Partial<Record<(typeof querySubjects)[number], unknown>>>,
): (typeof querySubjects)[number] {
  return onlyOneOf(
    query,
    querySubjects,
    "query: expected one of queryVector, queryVectors and queryContents",
  );
}

/** The type of a value, for messages. */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : typeof value;
}

/** Paths that only a shell, or something else, would expand; here they would name a folder. */
const unexpanded: readonly (readonly [RegExp, string])[] = [
  [/^~/, "one with ~, which is not expanded: write join(homedir(), …), or ./~ for a folder of this name"],
  [/(^|[\\/])\$[A-Za-z_]|\$\{|%[A-Za-z_]\w*%/, "one with a variable, which is not expanded: write its value"],
  [/^file:|^[a-z][a-z0-9+.-]+:\/\//i, "a URL: write a path, such as fileURLToPath(url)"],
];

/** Checks a caller's folder path. Throws `invalid_request`. `where` names it in messages. */
export function checkFolderPath(path: unknown, where: string): string {
  if (typeof path === "string" && path !== "" && !path.includes("\0")) {
    const [, found] = unexpanded.find(([pattern]) => pattern.test(path)) ?? [];
    if (found === undefined) return path;
    throw invalid(`${where}: expected a path, got ${found}`);
  }
  const received = typeof path === "string" ? "an empty string or a NUL character" : typeof path;
  throw invalid(`${where}: expected a path to name a folder, got ${received}`);
}

export function invalid(message: string): SealdexError {
  return new SealdexError("invalid_request", message);
}

/** Names an object that JSON would change, and its replacement. */
export function instanceName(value: object): string {
  if (isDate(value)) return "a Date (give its toISOString(), or a number)";
  if (isMapOrSet(value)) return "a Map or Set (give an object or an array)";
  return "an instance of a class (give an object literal)";
}
