/** Which items a call is about, as callers of the embedded index and of the HTTP client say it. */

import { invalid, onlyOneOf } from "./check-input.js";
import { compileFilter, type Filter, matchesEverything } from "./filter.js";
import { selectionOptions } from "./method-options.js";
import { checkOptions } from "./option-names.js";
import type { Selection } from "./vector-index.js";

interface FilterOption {
  readonly filter?: Filter | null;
  readonly filters?: Filter | null;
}

/** The filter under either of its two names; null counts as none. Throws `invalid_request` if both are there. */
export function filterOf({ filter, filters }: FilterOption, where: string): Filter | undefined {
  if ((filter ?? undefined) !== undefined && (filters ?? undefined) !== undefined) {
    throw invalid(`${where}: expected filter or filters, which mean the same, got both`);
  }
  return filter ?? filters ?? undefined;
}

/**
 * The one part of a selection that is there. Throws `invalid_request` unless it is exactly one, and if a filter would
 * delete everything, since an empty filter is more often a mistake than a wish.
 */
export function checkSelection(selection: Selection): Selection {
  checkOptions(selection, selectionOptions);
  const { ids, filter, deleteAll } = selection;
  onlyOneOf(
    selection,
    ["ids", "filter", "deleteAll"],
    "delete: expected either ids, or a filter, or all items",
  );
  if (ids !== undefined && ids !== null) return { ids };
  if (deleteAll !== undefined && deleteAll !== null) {
    if (deleteAll !== true) throw invalid(`deleteAll: expected true, got ${JSON.stringify(deleteAll)}`);
    return { deleteAll };
  }
  refuseEverything(filter);
  return { filter: filter };
}

/** Throws `invalid_request` for a filter that every item matches, whatever its metadata. */
export function refuseEverything(filter: Filter): void {
  if (!matchesEverything(compileFilter(filter).root)) return;
  throw invalid(
    "filter: expected a condition that some item may fail, got a filter that matches everything; to delete all items, use " +
      "deleteAll: true (over HTTP delete_all)",
  );
}
