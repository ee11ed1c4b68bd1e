/** Which items a call is about, as callers of the embedded index and of the HTTP client say it. */

import { invalid, onlyOneOf } from "./check-input.js";
import { compileFilter, type Filter, matchesEverything, takeFilter } from "./filter.js";
import { selectionOptions, updateSelectionOptions } from "./method-options.js";
import { takeOptions } from "./option-names.js";
import type { Selection, UpdateSelection } from "./vector-index.js";

interface FilterOption {
  readonly filter?: Filter | null;
  readonly filters?: Filter | null;
}

/** The filter under either of its two names; null counts as none. Throws `invalid_request` if both are present. */
export function filterOf({ filter, filters }: FilterOption, where: string): Filter | undefined {
  if ((filter ?? undefined) !== undefined && (filters ?? undefined) !== undefined) {
    throw invalid(`${where}: expected filter or filters, which mean the same, got both`);
  }
  return filter ?? filters ?? undefined;
}

/**
 * The parts of a selection that are present, as they are now. Throws `invalid_request` unless it is one of them, or ids and a filter; and if
 * a filter would match everything, since an empty filter is more often a mistake than a wish.
 */
export function checkSelection(selection: Selection): Selection {
  selection = takeOptions(selection, selectionOptions);
  const { ids, filter, deleteAll } = selection;
  const hasAll = deleteAll !== undefined && deleteAll !== null;
  if (filter !== undefined && filter !== null) {
    refuseEverything(filter, "filter", "to delete all items, use deleteAll: true (over HTTP delete_all)");
    if (ids !== undefined && ids !== null && !hasAll)
      return { ids: takeIds(ids), filter: takeFilter(filter) };
  }
  onlyOneOf(selection, ["ids", "filter", "deleteAll"], "delete: expected ids, a filter or deleteAll: true");
  if (ids !== undefined && ids !== null) return { ids: takeIds(ids) };
  if (hasAll) return { deleteAll: checkTrue(deleteAll, "deleteAll") };
  return { filter: takeFilter(filter as Filter) };
}

/** As `checkSelection`, of items to update. */
export function checkUpdateSelection(selection: UpdateSelection): UpdateSelection {
  selection = takeOptions(selection, updateSelectionOptions);
  const { ids, filter, updateAll } = selection;
  onlyOneOf(selection, ["ids", "filter", "updateAll"], "update: expected ids, a filter or updateAll: true");
  if (ids !== undefined && ids !== null) return { ids: takeIds(ids) };
  if (updateAll !== undefined && updateAll !== null) return { updateAll: checkTrue(updateAll, "updateAll") };
  refuseEverything(filter, "filter", "to update all items, use updateAll: true (over HTTP update_all)");
  return { filter: takeFilter(filter as Filter) };
}

/** The filter of the items that an upsert replaces. Throws `invalid_request` for one that everything matches. */
export function checkDeleteFilter(filter: Filter | null | undefined): Filter | undefined {
  if (filter === undefined || filter === null) return undefined;
  refuseEverything(filter, "deleteFilter", "to replace all items, delete them with deleteAll: true first");
  return filter;
}

/** Their array, which is the caller's, may change later. What is no array stays as it is. */
export function takeIds(ids: readonly string[]): readonly string[] {
  return Array.isArray(ids) ? Array.from(ids as readonly string[]) : ids;
}

function checkTrue(value: unknown, name: string): true {
  if (value !== true) throw invalid(`${name}: expected true, got ${JSON.stringify(value)}`);
  return value;
}

/** Throws `invalid_request` for a filter that every item matches, whatever its metadata. */
function refuseEverything(filter: Filter, name: string, hint: string): void {
  if (!matchesEverything(compileFilter(filter).root)) return;
  throw invalid(
    `${name}: expected a condition that some item may fail, got a filter that matches everything; ${hint}`,
  );
}
