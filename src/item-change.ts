/** Changes of metadata, as callers of the embedded index and of the HTTP client say them. */

import { invalid, isArray, losslessJson, typeName } from "./check-input.js";
import { itemChangeOptions } from "./method-options.js";
import { takeOptions } from "./option-names.js";
import type { ItemChange, Metadata } from "./vector-index.js";

/** With every default filled in. */
export interface CheckedChange {
  /** Plain JSON values, not the caller's. */
  readonly metadata: Metadata;
  readonly unset: readonly string[];
  readonly replace: boolean;
}

/** Throws `invalid_request` for what is no change, or contradicts itself. */
export function checkItemChange(change: ItemChange): CheckedChange {
  change = takeOptions(change, itemChangeOptions);
  const { metadata, unset, replace = false } = change;
  const given = metadata ?? undefined;
  if (given !== undefined && (typeof given !== "object" || Array.isArray(given))) {
    throw invalid(`metadata: expected an object, got ${typeName(given)}`);
  }
  if (typeof replace !== "boolean") throw invalid(`replace: expected a boolean, got ${typeName(replace)}`);
  const names = unset ?? [];
  if (!isArray(names)) throw invalid(`unset: expected an array of names, got ${typeName(names)}`);
  for (const [i, name] of names.entries()) {
    if (typeof name !== "string") throw invalid(`unset[${i}]: expected a string, got ${typeName(name)}`);
    if (given !== undefined && Object.hasOwn(given, name)) {
      throw invalid(`unset[${i}]: metadata sets this field too`);
    }
  }
  if (replace && given === undefined) throw invalid("replace: requires metadata");
  if (replace && names.length > 0) throw invalid("unset: cannot be combined with replace");
  if (given === undefined && names.length === 0) {
    throw invalid("update: expected metadata or unset, got neither");
  }
  const copy = JSON.parse(losslessJson(given ?? {}, "metadata")) as Metadata;
  return { metadata: copy, unset: [...names], replace };
}
