/**
 * Checks of what callers give, wherever they give it: to the embedded index or to the client of a service. Messages say
 * what was expected and what kind of thing came, never what it holds.
 */

import { dimensionMax } from "./engine/config.js";
import { SealdexError } from "./errors.js";

/** Throws `invalid_request` unless `vector` is one, or `dimension_mismatch` for a length that no index has. */
export function checkVectorShape(
  vector: unknown,
  where: string,
): asserts vector is readonly number[] | Float32Array {
  if (!Array.isArray(vector) && !(vector instanceof Float32Array)) {
    throw invalid(`${where}: expected an array of numbers or a Float32Array, got ${typeName(vector)}`);
  }
  if (vector.length === 0 || vector.length > dimensionMax) {
    throw new SealdexError(
      "dimension_mismatch",
      `${where}: expected 1 to ${dimensionMax} numbers, got ${vector.length}`,
    );
  }
}

/** The component `i` of a vector. Throws `invalid_request` unless it is finite as float32. */
export function checkFloat32(value: unknown, where: string, i: number): number {
  if (typeof value === "number" && Number.isFinite(Math.fround(value))) return value;
  const came = typeof value === "number" && Number.isFinite(value) ? "a number too large" : typeName(value);
  throw invalid(`${where}[${i}]: expected a number that is finite as float32, got ${came}`);
}

/**
 * The value as JSON text. Throws `invalid_request` where JSON would lose or change something: NaN, a bigint, a cycle.
 * Properties that are undefined are left out, and `toJSON` is called, as `JSON.stringify` does.
 */
export function losslessJson(value: unknown, where: string): string {
  const check = function check(this: unknown, key: string, part: unknown): unknown {
    const lost =
      (part === undefined && Array.isArray(this)) ||
      ["bigint", "function", "symbol"].includes(typeof part) ||
      (typeof part === "number" && !Number.isFinite(part));
    if (lost) throw invalid(`${where}: expected JSON values, got ${typeName(part)} under "${key}"`);
    return part;
  };
  try {
    return JSON.stringify(value, check);
  } catch (cause) {
    if (cause instanceof SealdexError) throw cause;
    throw new SealdexError("invalid_request", `${where}: expected JSON values, got a cycle or deep nesting`, {
      cause,
    });
  }
}

/** The value as JSON text. Throws `invalid_request` for what has none: a bigint, a cycle. `where`: for messages. */
export function jsonText(value: unknown, where: string): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new SealdexError("invalid_request", `${where}: expected JSON values`, { cause });
  }
}

/** What a value is, for messages. */
/** As `Array.isArray`, which takes the elements of a readonly array for `any`. */
export function isArray(value: unknown): boolean {
  return Array.isArray(value);
}

export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : typeof value;
}

export function invalid(message: string): SealdexError {
  return new SealdexError("invalid_request", message);
}
