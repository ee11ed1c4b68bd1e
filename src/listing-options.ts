/** Options of listing indexes, and of listing and counting items. */

import type { Filter } from "./filter.js";
import type { ItemField, StoredItem } from "./items.js";
import type { NamespaceOption } from "./namespace-options.js";
import type { CallOptions } from "./result-options.js";

export interface CountOptions extends CallOptions, NamespaceOption {
  /** Counts only items whose metadata match. */
  readonly filter?: Filter | undefined;
}

export interface ListIndexesOptions extends CallOptions {
  /** Maximum number. Default: all. */
  readonly limit?: number | undefined;
  /** Only names after this one. Default: all. */
  readonly after?: string | undefined;
}

export interface ListIdsOptions extends CallOptions, NamespaceOption {
  /** Maximum number. Default: all. */
  readonly limit?: number;
  /** Only ids greater than this one. */
  readonly after?: string;
  /** Lists only items whose metadata match. */
  readonly filter?: Filter | undefined;
}

interface Listing<I extends readonly ItemField[]> extends NamespaceOption {
  /** Lists only items whose metadata match. */
  readonly filter?: Filter | undefined;
  /** Default: all but `decoded`, and `vector` only if the index stores vectors. */
  readonly include?: I | undefined;
  /** Only items whose ids are greater than this one. */
  readonly after?: string | undefined;
}

export interface ListItemsOptions<I extends readonly ItemField[] = readonly ItemField[]>
  extends Listing<I>, CallOptions {
  /**
   * Items per page, 1 to 10,000. Default 1,000. A page of large items ends earlier, after about 16
   * MiB.
   */
  readonly limit?: number;
  /** Cursor of the previous page, to continue in the same state of the index. Excludes `after`. */
  readonly cursor?: string | undefined;
  /** Orders by metadata instead of ids. Pass the same for the next page. */
  readonly orderBy?: OrderBy | undefined;
}

/**
 * Dotted paths of metadata, 1 to 8, by priority: `{ year: "desc", title: "asc" }`. Numbers come
 * before texts, texts before booleans; descending reverses this. Items without one of these values,
 * or with an array on the path, always come last. Texts compare by code points, as in filters, and
 * by their first 96 UTF-16 units. Equal values are in the order of ids.
 */
export type OrderBy = Readonly<Record<string, "asc" | "desc">>;

export interface ItemPage<I extends readonly ItemField[] = readonly ItemField[]> {
  readonly items: StoredItem<I>[];
  /** Cursor of the next page; absent on the last one. */
  readonly cursor?: string;
}

export interface ItemsOptions<I extends readonly ItemField[] = readonly ItemField[]>
  extends Listing<I>, CallOptions {
  /** Items per page, 1 to 10,000. Default 1,000. */
  readonly pageSize?: number;
}
