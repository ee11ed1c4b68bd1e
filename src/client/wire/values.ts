/**
 * Vectors and other values in JSON. Values that JSON cannot express exactly are refused, never
 * changed.
 *
 * A float32 is written as the float64 equal to it, and reads back exactly. `JSON.stringify` would
 * turn minus zero into zero, so it is written as a negative number so small that float32 rounds it
 * to minus zero.
 */

import type { IndexKey, Vector } from "../../api/vector-index.js";
import { checkFloat32, checkText, checkVectorShape, invalid, isArray, typeName } from "../../checks/input.js";
import { isBytes, isDate, isFloat32Array } from "../../checks/value-kinds.js";

/** Below half of the smallest float32 above zero, 2^-149. */
const minusZero = -1e-60;

/** Throws like `checkVectorShape` and `checkFloat32`. */
export function encodeVector(vector: Vector, where: string): number[] {
  checkVectorShape(vector, where);
  const numbers: number[] = [];
  for (let i = 0; i < vector.length; i++) {
    const value = checkFloat32(vector[i], where, i);
    numbers.push(Object.is(value, -0) ? minusZero : value);
  }
  return numbers;
}

export function encodeVectors(vectors: readonly Vector[], where: string): number[][] {
  if (!isArray(vectors)) throw invalid(`${where}: expected an array of vectors`);
  return Array.from(vectors, (vector, i) => encodeVector(vector, `${where}[${i}]`));
}

/**
 * Throws `invalid_request`, naming the first number that is not finite as float32. Decoded vectors
 * are returned unchanged.
 */
export function decodeVector(numbers: unknown, where: string): Float32Array {
  if (isFloat32Array(numbers)) return numbers;
  if (!Array.isArray(numbers))
    throw invalid(`${where}: expected an array of numbers, got ${typeName(numbers)}`);
  const vector = new Float32Array(numbers.length);
  for (let i = 0; i < numbers.length; i++) vector[i] = checkFloat32(numbers[i], where, i);
  return vector;
}

/** 64 hexadecimal characters; strings are returned unchanged. */
export function encodeKey(indexKey: IndexKey): string {
  if (typeof indexKey === "string") return indexKey;
  if (!isBytes(indexKey)) {
    throw invalid(`index key: expected 64 hexadecimal characters or 32 bytes, got ${typeName(indexKey)}`);
  }
  return Array.from(indexKey, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Copies an array of strings. Throws `invalid_request`, naming the first entry that is not a
 * string.
 */
export function texts<T extends string>(values: readonly T[], where: string): readonly T[] {
  if (!isArray(values)) throw invalid(`${where}: expected an array, got ${typeName(values)}`);
  // Unlike other loops, this one sees holes in the array.
  for (const [i, value] of values.entries()) checkText(value, `${where}[${i}]`);
  return [...values];
}

/** Returns an integer or undefined unchanged; refuses NaN, which JSON would turn into null. */
export function decodeInteger(value: number | undefined, where: string): number | undefined {
  if (value === undefined || Number.isInteger(value)) return value;
  const received = typeof value === "number" ? String(value) : typeName(value);
  throw invalid(`${where}: expected an integer, got ${received}`);
}

/** Like `integer`, with bounds, for values that a service treats differently beyond them. */
export function checkRange(
  value: number | undefined,
  [min, max]: readonly [number, number],
  where: string,
): number | undefined {
  const checked = decodeInteger(value, where);
  if (checked === undefined || (checked >= min && checked <= max)) return checked;
  throw invalid(`${where}: expected an integer from ${min} to ${max}, got ${checked}`);
}

/** ISO 8601. Throws `invalid_request` for an invalid time. */
export function encodeTime(time: Date | number | undefined, where: string): string | undefined {
  if (time === undefined || time === null) return undefined;
  const isTime = isDate(time) || typeof time === "number";
  const date = new Date(isTime ? time : Number.NaN);
  if (!Number.isNaN(date.getTime())) return date.toISOString();
  throw invalid(`${where}: expected a Date or milliseconds since 1970`);
}

const isoTime = /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Throws `invalid_request` for anything but ISO 8601 with a zone. */
export function decodeTime(text: unknown, where: string): Date {
  const date = new Date(typeof text === "string" && isoTime.test(text) ? text : Number.NaN);
  if (!Number.isNaN(date.getTime())) return date;
  throw invalid(`${where}: expected a time of ISO 8601 with its zone, such as 2030-01-31T12:00:00Z`);
}

// Base64 that also works in browsers.

/** A multiple of three, so that encoded pieces can be joined, and below the limit of arguments. */
const pieceBytes = 3 * 4096;

export function encodeBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + pieceBytes)));
  }
  return text;
}

/** The length of the base64 text of this many bytes. */
export function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}
