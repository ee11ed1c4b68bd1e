/** Filters on their way through HTTP, under the specification's name and the library's. */

import { type Filter, takeFilter } from "../filter.js";
import { filterOf } from "../selection.js";
import type { Metadata } from "../vector-index.js";

export interface FilterBody {
  readonly filters?: Metadata | null | undefined;
  /** The library's name of `filters`: ignoring it would show what it was meant to hide. */
  readonly filter?: Metadata | null | undefined;
}

/** Refuses what the library would: JSON drops undefined fields, and the filter would match more than it says. */
export function encodeFilter(filter: Filter | null | undefined): Metadata | undefined {
  if (filter === undefined || filter === null) return undefined;
  return takeFilter(filter) as Metadata;
}

/** The filter under either of its two names. `where`: the method, for messages. */
export function decodeFilter(body: FilterBody, where: string): Filter | undefined {
  return filterOf(body as Parameters<typeof filterOf>[0], where);
}
