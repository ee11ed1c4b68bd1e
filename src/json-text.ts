/** JSON that is held as text: parsed, it takes up to 20 times as much memory. */

import { invalid } from "./check-input.js";

export class JsonText {
  readonly text: string;

  /** `value`: made by `JSON.parse`. Throws `invalid_request` for a number that it could only read as infinity. */
  constructor(value: object, where: string) {
    if (!hasFiniteNumbers(value))
      throw invalid(`${where}: expected numbers within float64, got a greater one`);
    this.text = JSON.stringify(value);
  }
}

function hasFiniteNumbers(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(hasFiniteNumbers);
}
