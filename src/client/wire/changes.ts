/** The JSON of conditional upserts and of updates, without the address of the index. */

import { checkDeleteFilter, checkItemChange, checkUpdateSelection } from "../../api/check-selection.js";
import type {
  ItemChange,
  Metadata,
  UpdateResult,
  UpdateSelection,
  UpsertOptions,
  UpsertResult,
} from "../../api/vector-index.js";
import { invalid } from "../../checks/input.js";
import type { Maybe } from "./address.js";
import { decodeFilter, encodeFilter, type FilterBody } from "./filters.js";
import { decodeNamespace, encodeNamespace, type NamespaceBody } from "./namespaces.js";
import { foreign, ofService } from "./results.js";

export interface UpsertConditionsBody extends NamespaceBody {
  readonly delete_filter?: Maybe<Metadata>;
  readonly within?: Maybe<Metadata>;
  readonly skip_unchanged?: Maybe<boolean>;
}

export function encodeUpsertOptions(options: UpsertOptions): UpsertConditionsBody {
  const { deleteFilter, within, skipUnchanged } = options;
  if (skipUnchanged !== undefined && typeof skipUnchanged !== "boolean") {
    throw invalid(`skipUnchanged: expected a boolean, got ${typeof skipUnchanged}`);
  }
  return {
    delete_filter: encodeFilter(checkDeleteFilter(deleteFilter)),
    within: encodeFilter(within),
    skip_unchanged: skipUnchanged,
    ...encodeNamespace(options),
  };
}

export function decodeUpsertOptions(body: UpsertConditionsBody): UpsertOptions {
  const { delete_filter, within, skip_unchanged } = body;
  return {
    ...decodeNamespace(body),
    deleteFilter: checkDeleteFilter((delete_filter ?? undefined) as UpsertOptions["deleteFilter"]),
    within: (within ?? undefined) as UpsertOptions["within"],
    skipUnchanged: skip_unchanged ?? false,
  };
}

export function decodeUpsertResult(json: unknown): UpsertResult {
  return ofService(() => {
    const { stored, unchanged, deleted } = json as UpsertResult;
    return { stored: count(stored), unchanged: count(unchanged), deleted: count(deleted) };
  });
}

export interface UpdateBody extends FilterBody, NamespaceBody {
  readonly ids?: Maybe<readonly string[]>;
  readonly update_all?: Maybe<boolean>;
  readonly metadata?: Maybe<Metadata>;
  readonly unset?: Maybe<readonly string[]>;
  readonly replace?: Maybe<boolean>;
}

export function encodeUpdate(selection: UpdateSelection, change: ItemChange): UpdateBody {
  const { ids, filter, updateAll } = checkUpdateSelection(selection);
  const { metadata, unset, replace } = checkItemChange(change);
  return { ids, filters: encodeFilter(filter), update_all: updateAll, metadata, unset, replace };
}

export function decodeUpdate(body: UpdateBody): {
  readonly selection: UpdateSelection;
  readonly change: ItemChange;
} {
  const { ids, update_all, metadata, unset, replace } = body;
  const selection = {
    ids: ids ?? undefined,
    filter: decodeFilter(body, "update"),
    updateAll: update_all ?? undefined,
  };
  const change = { metadata: metadata ?? undefined, unset: unset ?? undefined, replace: replace ?? false };
  return { selection: checkUpdateSelection(selection as UpdateSelection), change };
}

export function decodeUpdateResult(json: unknown): UpdateResult {
  return ofService(() => {
    const { matched, updated } = json as UpdateResult;
    return { matched: count(matched), updated: count(updated) };
  });
}

function count(value: unknown): number {
  if (typeof value !== "number") throw foreign();
  return value;
}
