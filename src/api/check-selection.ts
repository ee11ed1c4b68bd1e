/** Checks selections of items, embedded and over HTTP. */

import { invalid, isArray, losslessJson, onlyOneOf, typeName } from "../checks/input.js";
import { takeOptions } from "../checks/option-names.js";
import { own } from "../checks/value-kinds.js";
import { compileFilter, type Filter, matchesEverything, takeFilter } from "./filter/compile.js";
import { itemChangeOptions, selectionOptions, updateSelectionOptions } from "./method-options.js";
import type { ItemChange, Metadata, Selection, UpdateSelection } from "./vector-index.js";

interface FilterOption {
  readonly filter?: Filter | null;
  readonly filters?: Filter | null;
}

/** The filter under either name; null counts as none. Throws `invalid_request` for both. */
export function filterOf({ filter, filters }: FilterOption, where: string): Filter | undefined {
  if ((filter ?? undefined) !== undefined && (filters ?? undefined) !== undefined) {
    throw invalid(`${where}: expected filter or filters, which mean the same, got both`);
  }
  return filter ?? filters ?? undefined;
}

/**
 * Copies a selection. Throws `invalid_request` unless it has ids, a filter, both, or `deleteAll`;
 * and for a filter that matches everything, since an empty filter is usually a mistake.
 */
export function checkSelection(selection: Selection): Selection {
  selection = takeOptions(selection, selectionOptions);
  const { ids, filter, deleteAll } = selection;
  const hasAll = deleteAll !== undefined && deleteAll !== null;
  if (filter !== undefined && filter !== null) {
    refuseEverything(filter, "filter", "to delete all items, use deleteAll: true (over HTTP delete_all)");
    if (ids !== undefined && ids !== null && !hasAll)
      return own({ ids: takeIds(ids), filter: takeFilter(filter) });
  }
  onlyOneOf(selection, ["ids", "filter", "deleteAll"], "delete: expected ids, a filter or deleteAll: true");
  if (ids !== undefined && ids !== null) return own({ ids: takeIds(ids) });
  if (hasAll) return own({ deleteAll: checkTrue(deleteAll, "deleteAll") });
  return { filter: takeFilter(filter as Filter) };
}

/** Like `checkSelection`, for items to update. */
export function checkUpdateSelection(selection: UpdateSelection): UpdateSelection {
  selection = takeOptions(selection, updateSelectionOptions);
  const { ids, filter, updateAll } = selection;
  onlyOneOf(selection, ["ids", "filter", "updateAll"], "update: expected ids, a filter or updateAll: true");
  if (ids !== undefined && ids !== null) return own({ ids: takeIds(ids) });
  if (updateAll !== undefined && updateAll !== null)
    return own({ updateAll: checkTrue(updateAll, "updateAll") });
  refuseEverything(filter, "filter", "to update all items, use updateAll: true (over HTTP update_all)");
  return own({ filter: takeFilter(filter as Filter) });
}

/**
 * The filter of the items that an upsert replaces. Throws `invalid_request` for one that matches
 * everything.
 */
export function checkDeleteFilter(filter: Filter | null | undefined): Filter | undefined {
  if (filter === undefined || filter === null) return undefined;
  refuseEverything(filter, "deleteFilter", "to replace all items, delete them with deleteAll: true first");
  return filter;
}

/** Copies the array, which the caller may change. Returns other values unchanged. */
export function takeIds(ids: readonly string[]): readonly string[] {
  return Array.isArray(ids) ? Array.from(ids as readonly string[]) : ids;
}

function checkTrue(value: unknown, name: string): true {
  if (value !== true) throw invalid(`${name}: expected true, got ${JSON.stringify(value)}`);
  return value;
}

/** Throws `invalid_request` for a filter that matches every item. */
function refuseEverything(filter: Filter, name: string, hint: string): void {
  if (!matchesEverything(compileFilter(filter).root)) return;
  throw invalid(
    `${name}: expected a condition that some item may fail, got a filter that matches everything; ${hint}`,
  );
}

// Checks changes of metadata, embedded and over HTTP.

/** All defaults are filled in. */
export interface CheckedChange {
  /** A copy with plain JSON values. */
  readonly metadata: Metadata;
  readonly unset: readonly string[];
  readonly replace: boolean;
}

/** Throws `invalid_request` for an invalid or contradictory change. */
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
