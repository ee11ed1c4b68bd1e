/** Checks queries by metadata only, embedded and over HTTP. */

import { invalid, typeName } from "./check-input.js";
import { methodOptions } from "./method-options.js";
import { takeOptions } from "./option-names.js";
import type { OrderedQuery } from "./vector-index.js";

export function isOrderedQuery(request: object): request is OrderedQuery {
  const { orderBy } = request as Partial<OrderedQuery>;
  return orderBy !== undefined && orderBy !== null;
}

/**
 * Throws `invalid_request` for options of other queries, and for an `orderBy` that is no object.
 */
export function checkOrderedOptions(request: OrderedQuery): void {
  const present = Object.entries(request).filter(([, value]) => value !== undefined && value !== null);
  takeOptions(Object.fromEntries(present), methodOptions.orderedQuery);
  const { orderBy }: { readonly orderBy: unknown } = request;
  if (typeof orderBy !== "object" || Array.isArray(orderBy)) {
    throw invalid(`orderBy: expected an object like { year: "desc" }, got ${typeName(orderBy)}`);
  }
}

/** Throws `invalid_request` for a cursor without `orderBy`: other queries have no pages. */
export function refuseCursor(request: object): void {
  if ((request as Partial<OrderedQuery>).cursor !== undefined) {
    throw invalid("cursor: expected a query with orderBy, got one without");
  }
}
