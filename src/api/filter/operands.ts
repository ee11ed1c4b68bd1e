/** Checks the operands of filters. */

import { SealdexError } from "../../errors.js";
import { isObjectLike, type JsonObject } from "./match.js";
import { instanceName } from "../../checks/input.js";

const listValuesMax = 10_000;
/** Limit of values in all conditions of a filter, including nested ones. */
const valuesMax = 100_000;
/** Limit of the characters of all texts in these values. */
const textCharactersMax = 2 * 1024 * 1024;
/** Limit of a text to search for, since it is compared at every position. */
const partCharactersMax = 256;
/** Limit of a value's nesting. */
const valueDepthMax = 32;

/** Values checked so far, and the characters of their texts. */
export interface ValueCount {
  values: number;
  textCharacters: number;
}

/** `{ $in: [{ $gt: 5 }] }` is an error, as in MongoDB: it would match nothing that it seems to. */
export function checkList(list: unknown, where: string, count: ValueCount): void {
  if (!Array.isArray(list)) throw invalidFilter(where, `expected an array, got ${describeType(list)}`);
  if (list.length > listValuesMax) {
    throw invalidFilter(where, `expected at most ${listValuesMax} values, got ${list.length}`);
  }
  for (let i = 0; i < list.length; i++) {
    if (hasOperators(list[i])) {
      throw invalidFilter(`${where}[${i}]`, "expected a value, got an object with operators");
    }
  }
  checkValue(list, where, count);
}

export function checkValue(value: unknown, where: string, count: ValueCount): void {
  const fault = faultOf(value, 0, count);
  if (fault !== null) throw new SealdexError("invalid_request", where + fault);
}

/** Checks the operand of `$contains`. */
export function checkPart(part: unknown, where: string): void {
  if (part === null || isObjectLike(part)) {
    throw invalidFilter(where, `expected a text, a number or a boolean, got ${describeType(part)}`);
  }
  if (typeof part === "string" && part.length > partCharactersMax) {
    throw invalidFilter(
      where,
      `expected a text of at most ${partCharactersMax} characters, got ${part.length}`,
    );
  }
}

/**
 * The place and reason if `value` is not a JSON value, or null. Stops at the limits of a filter.
 */
function faultOf(value: unknown, depth: number, count: ValueCount): string | null {
  if (depth > valueDepthMax) return `: expected values at most ${valueDepthMax} deep`;
  if (++count.values > valuesMax) return `: expected at most ${valuesMax} values in all`;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const fault = faultOf(value[i], depth + 1, count);
      if (fault !== null) return `[${i}]${fault}`;
    }
    return null;
  }
  if (isPlainObject(value)) {
    for (const key of Object.keys(value)) {
      const fault = faultOf(value[key], depth + 1, count);
      if (fault !== null) return member("", key) + fault;
    }
    return null;
  }
  if (typeof value === "string" && (count.textCharacters += value.length) > textCharactersMax) {
    return `: expected at most ${textCharactersMax} characters of texts in all`;
  }
  const isScalar = value === null || typeof value === "string" || typeof value === "boolean";
  return isScalar || Number.isFinite(value) ? null : `: expected a JSON value, got ${describeType(value)}`;
}

export function hasOperators(value: unknown): value is JsonObject {
  return isPlainObject(value) && Object.keys(value).some((key) => key.startsWith("$"));
}

/** An object literal of any realm; not a Date, Map or class instance. */
export function isPlainObject(value: unknown): value is JsonObject {
  if (!isObjectLike(value) || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

export function member(where: string, key: string): string {
  return /^[\p{L}\p{N}_$.-]{1,100}$/u.test(key)
    ? `${where}.${key}`
    : `${where}[${JSON.stringify(key.slice(0, 100))}]`;
}

export function describeType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  if (isObjectLike(value) && !isPlainObject(value)) return instanceName(value);
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : typeof value;
}

export function invalidFilter(where: string, message: string): SealdexError {
  return new SealdexError("invalid_request", `${where}: ${message}`);
}
