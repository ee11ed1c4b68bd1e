/** JSON kept as text: parsed, it takes up to 20 times as much memory. */

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
