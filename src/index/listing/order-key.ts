/** The order of items by a field of their metadata: numbers, then texts, then booleans, then items without any of these. */

import { compareScalars } from "../../api/filter/match.js";
import { type ColumnValue, isScalar, textMax } from "../../state/segment/columns.js";
import type { Metadata } from "../../api/vector-index.js";

/** Undefined: the item has no value that can be ordered. */
export type OrderKey = number | string | boolean | undefined;

export interface OrderField {
  readonly path: readonly string[];
  readonly isAscending: boolean;
}

/** Longer than any text of `textMax` characters, and before all longer texts that begin so. */
const more = "\0";

/** The key of a value. A text is ordered by its first 96 UTF-16 units, which are the part that columns hold. */
function keyOf(value: unknown): OrderKey {
  if (typeof value === "string") return value.length > textMax ? value.slice(0, textMax) + more : value;
  return typeof value === "number" || typeof value === "boolean" ? value : undefined;
}

export function columnKey(value: ColumnValue): OrderKey {
  return isScalar(value) ? keyOf(value) : value[0] + more;
}

/** The key at a path, which enters objects and no arrays. */
export function keyAt(metadata: Metadata | undefined, path: readonly string[]): OrderKey {
  let value: unknown = metadata;
  for (const name of path) {
    const isEntered = typeof value === "object" && value !== null && !Array.isArray(value);
    if (!isEntered || !Object.hasOwn(value as object, name)) return undefined;
    value = (value as Metadata)[name];
  }
  return keyOf(value);
}

/** Below 0 if `a` comes first. */
export function compareKeys(a: OrderKey, b: OrderKey, isAscending: boolean): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  const order = compareScalars(a, b);
  return isAscending ? order : -order;
}
