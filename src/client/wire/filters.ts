/** Filters over HTTP, under the specification's name and the library's. */

import { type Filter, takeFilter } from "../../api/filter/compile.js";
import { filterOf } from "../../api/check-selection.js";
import type { Metadata } from "../../api/vector-index.js";

export interface FilterBody {
  readonly filters?: Metadata | null | undefined;
  /**
   * The library's name of `filters`: ignoring it would return items that the caller meant to
   * exclude.
   */
  readonly filter?: Metadata | null | undefined;
}

/**
 * Refuses the same filters as the library: JSON drops undefined fields, so the filter would match
 * more.
 */
export function encodeFilter(filter: Filter | null | undefined): Metadata | undefined {
  if (filter === undefined || filter === null) return undefined;
  return takeFilter(filter) as Metadata;
}

/** The filter under either name. `where` is the method in messages. */
export function decodeFilter(body: FilterBody, where: string): Filter | undefined {
  return filterOf(body as Parameters<typeof filterOf>[0], where);
}
