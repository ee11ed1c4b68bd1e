/** JSON kept as text: parsed, it takes up to 20 times as much memory. */

import { SealdexError } from "../errors.js";
import { invalid, losslessJson, typeName } from "./input.js";

export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Copies metadata as text. Throws `invalid_request` for anything but an object of JSON values. */
export function takeJson(metadata: unknown, where: string): JsonText {
  if (metadata instanceof JsonText) return metadata;
  if (typeof metadata === "object" && metadata !== null && !Array.isArray(metadata)) {
    return new JsonText(losslessJson(metadata, where));
  }
  throw invalid(`${where}: expected an object, got ${typeName(metadata)}`);
}

/**
 * Copies metadata as JSON would write it: a date as its text, an instance of a class by its own
 * properties, without functions. Throws `invalid_request`, with the path, for cycles and bigints.
 */
export function convertJson(metadata: unknown, where: string): JsonText {
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) {
    throw invalid(`${where}: expected an object, got ${typeName(metadata)}`);
  }
  let text: string | undefined;
  try {
    text = JSON.stringify(metadata);
  } catch (cause) {
    const message = obstacle(metadata, where, []) ?? `${where}: expected JSON values, got deep nesting`;
    throw new SealdexError("invalid_request", message, { cause });
  }
  if (text?.startsWith("{") === true) return new JsonText(text);
  throw invalid(`${where}: expected an object, got one whose toJSON() returns none`);
}

/** Deeper values are not searched. */
const depthMax = 1000;

/** The message for the first value that JSON cannot write; undefined if none is found. */
function obstacle(value: unknown, path: string, ancestors: readonly unknown[]): string | undefined {
  if (typeof value === "bigint")
    return `${path}: expected JSON values, got a bigint (give a number or a text)`;
  if (typeof value !== "object" || value === null || ancestors.length > depthMax) return undefined;
  if (ancestors.includes(value))
    return `${path}: expected JSON values, got a cycle (remove it, or copy the fields)`;
  for (const [name, inner] of Object.entries(value)) {
    const isName = /^[A-Za-z_$][\w$]{0,99}$/.test(name);
    const step = isName ? `.${name}` : `[${JSON.stringify(name.slice(0, 100))}]`;
    const at = Array.isArray(value) ? `${path}[${name}]` : path + step;
    const found = obstacle(inner, at, [...ancestors, value]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * `value` is a result of `JSON.parse`. Throws `invalid_request` for numbers that became infinite.
 */
export function parsedJson(value: object, where: string): JsonText {
  if (!hasFiniteNumbers(value)) throw invalid(`${where}: expected numbers within the range of float64`);
  return new JsonText(JSON.stringify(value));
}

function hasFiniteNumbers(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(hasFiniteNumbers);
}
