/** How indexes and items are listed, and items are counted. */

import type { Filter } from "./filter.js";
import type { ItemField, StoredItem } from "./items.js";
import type { NamespaceOption } from "./namespace-options.js";
import type { CallOptions } from "./result-options.js";

export interface CountOptions extends CallOptions, NamespaceOption {
  /** Only items whose metadata match are counted. */
  readonly filter?: Filter | undefined;
}

export interface ListIndexesOptions extends CallOptions {
  /** At most so many. Default: all. */
  readonly limit?: number | undefined;
  /** Only names after this one. Default: all. */
  readonly after?: string | undefined;
}

export interface ListIdsOptions extends CallOptions, NamespaceOption {
  /** At most so many. Default: all. */
  readonly limit?: number;
  /** Only ids greater than this one. */
  readonly after?: string;
  /** Only items whose metadata match are listed. */
  readonly filter?: Filter | undefined;
}

interface Listing<I extends readonly ItemField[]> extends NamespaceOption {
  /** Only items whose metadata match are listed. */
  readonly filter?: Filter | undefined;
  /** Default: all but `decoded`, and `vector` only if the index keeps vectors. */
  readonly include?: I | undefined;
  /** Only items whose ids are greater than this one. */
  readonly after?: string | undefined;
}

export interface ListItemsOptions<I extends readonly ItemField[] = readonly ItemField[]>
  extends Listing<I>, CallOptions {
  /** Items of one page, 1 to 10,000. Default 1,000. A page of large items ends earlier, after about 16 MiB. */
  readonly limit?: number;
  /** Of the previous page: this one continues there, in the same state of the index. In place of `after`. */
  readonly cursor?: string | undefined;
  /** In the order of metadata, not of ids. Give the same for the next page. */
  readonly orderBy?: OrderBy | undefined;
}

/**
 * Dotted paths of metadata, 1 to 8, the first one first: `{ year: "desc", title: "asc" }`. Numbers come before texts, texts before
 * booleans, descending the other way round. Items without one of these, or with an array on the path, come last either way.
 * Texts are ordered by code points, as filters compare them, and by their first 96 UTF-16 units. Items with equal values are in
 * the order of their ids.
 */
export type OrderBy = Readonly<Record<string, "asc" | "desc">>;

export interface ItemPage<I extends readonly ItemField[] = readonly ItemField[]> {
  readonly items: StoredItem<I>[];
  /** For the next page. Absent if this is the last one. */
  readonly cursor?: string;
}

export interface ItemsOptions<I extends readonly ItemField[] = readonly ItemField[]>
  extends Listing<I>, CallOptions {
  /** Items that are read at a time, 1 to 10,000. Default 1,000. */
  readonly pageSize?: number;
}
