/**
 * Vectors and other values as JSON says them. What JSON cannot say exactly is refused, never changed.
 *
 * A float32 is written as the float64 equal to it, and reads back bit for bit; minus zero, which `JSON.stringify`
 * would turn into zero, is written as a negative number so small that float32 rounds it to minus zero.
 */

import { dimensionMax } from "../engine/config.js";
import { SealdexError } from "../errors.js";
import type { IndexKey, Vector } from "../vector-index.js";

/** Below half of the smallest float32 above zero, 2^-149. */
const minusZero = -1e-60;

/** Throws `invalid_request`, or `dimension_mismatch` for a length that no index has. */
export function encodeVector(vector: Vector, where: string): number[] {
  if (!Array.isArray(vector) && !(vector instanceof Float32Array)) {
    throw invalid(`${where}: expected an array of numbers or a Float32Array, got ${typeName(vector)}`);
  }
  const { length } = vector;
  if (length === 0 || length > dimensionMax) {
    throw new SealdexError(
      "dimension_mismatch",
      `${where}: expected 1 to ${dimensionMax} numbers, got ${length}`,
    );
  }
  const numbers: number[] = [];
  for (let i = 0; i < length; i++) {
    const value = checkFloat32(vector[i], where, i);
    numbers.push(Object.is(value, -0) ? minusZero : value);
  }
  return numbers;
}

/** Throws `invalid_request`, naming the first number that is not finite as float32. */
export function decodeVector(numbers: unknown, where: string): Float32Array {
  if (!Array.isArray(numbers))
    throw invalid(`${where}: expected an array of numbers, got ${typeName(numbers)}`);
  const vector = new Float32Array(numbers.length);
  for (let i = 0; i < numbers.length; i++) vector[i] = checkFloat32(numbers[i], where, i);
  return vector;
}

function checkFloat32(value: unknown, where: string, i: number): number {
  if (typeof value === "number" && Number.isFinite(Math.fround(value))) return value;
  const came = typeof value === "number" && Number.isFinite(value) ? "a number too large" : typeName(value);
  throw invalid(`${where}[${i}]: expected a number that is finite as float32, got ${came}`);
}

/** 64 hexadecimal characters; a string is taken as it is. */
export function encodeKey(indexKey: IndexKey): string {
  if (typeof indexKey === "string") return indexKey;
  if (!(indexKey instanceof Uint8Array)) {
    throw invalid(`index key: expected 64 hexadecimal characters or 32 bytes, got ${typeName(indexKey)}`);
  }
  return Array.from(indexKey, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** An integer or undefined, as it is; NaN, which JSON would turn into null, is refused. */
export function integer(value: number | undefined, where: string): number | undefined {
  if (value === undefined || Number.isInteger(value)) return value;
  const came = typeof value === "number" ? String(value) : typeName(value);
  throw invalid(`${where}: expected an integer, got ${came}`);
}

/** Throws `invalid_request` where `JSON.stringify` would lose or change a value inside `value`. */
export function checkLossless(value: unknown, where: string): void {
  const check = function check(this: unknown, key: string, part: unknown): unknown {
    const lost =
      (part === undefined && Array.isArray(this)) ||
      ["bigint", "function", "symbol"].includes(typeof part) ||
      (typeof part === "number" && !Number.isFinite(part));
    if (lost) throw invalid(`${where}: expected JSON values, got ${typeName(part)} under "${key}"`);
    return part;
  };
  try {
    JSON.stringify(value, check);
  } catch (cause) {
    if (cause instanceof SealdexError) throw cause;
    throw new SealdexError("invalid_request", `${where}: expected JSON values, got a cycle or deep nesting`, {
      cause,
    });
  }
}

/** What a value is, for messages; never what it holds. */
export function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : typeof value;
}

function invalid(message: string): SealdexError {
  return new SealdexError("invalid_request", message);
}
