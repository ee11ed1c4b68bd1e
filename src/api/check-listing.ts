/** Checks the order of a listing by metadata, embedded and over HTTP. */

import { invalid, typeName } from "../checks/input.js";
import type { OrderBy } from "./vector-index.js";

const fieldsMax = 8;

/** Throws `invalid_request` for an invalid order. */
export function checkOrder(orderBy: OrderBy): [path: string, direction: "asc" | "desc"][] {
  if (typeof orderBy !== "object" || orderBy === null || Array.isArray(orderBy)) {
    throw invalid(`orderBy: expected an object like { year: "desc" }, got ${typeName(orderBy)}`);
  }
  const fields = Object.entries(orderBy);
  if (fields.length === 0 || fields.length > fieldsMax) {
    throw invalid(`orderBy: expected 1 to ${fieldsMax} fields, got ${fields.length}`);
  }
  for (const [, direction] of fields) {
    if (direction !== "asc" && direction !== "desc") {
      throw invalid(`orderBy: expected "asc" or "desc" of each field, got ${typeName(direction)}`);
    }
  }
  return fields;
}
