/** Checks of a query by metadata alone. */

import { invalid, typeName } from "../check-input.js";
import { splitPath } from "../filter.js";
import { methodOptions } from "../method-options.js";
import { checkOptions } from "../option-names.js";
import type { OrderField } from "../search/order-key.js";
import { filterOf } from "../selection.js";
import type { OrderedQuery } from "../vector-index.js";
import { type CheckedListing, checkListing } from "./check-request.js";

const fieldsMax = 8;
const pageItems = 100;

export function isOrderedQuery(request: object): request is OrderedQuery {
  const { orderBy } = request as Partial<OrderedQuery>;
  return orderBy !== undefined && orderBy !== null;
}

/** Throws `invalid_request`, also for options that other queries alone have. */
export function checkOrderedQuery(request: OrderedQuery): CheckedListing {
  const present = Object.entries(request).filter(([, value]) => value !== undefined && value !== null);
  checkOptions(Object.fromEntries(present), methodOptions.orderedQuery);
  const { orderBy, topK = pageItems, include = ["metadata"], reserveBytes, rawMetadata, signal } = request;
  const filter = filterOf(request, "query");
  const listing = { filter, include, reserveBytes, rawMetadata, signal };
  return { ...checkListing(listing, topK, "topK"), order: checkOrder(orderBy) };
}

function checkOrder(orderBy: unknown): OrderField[] {
  if (typeof orderBy !== "object" || orderBy === null || Array.isArray(orderBy)) {
    throw invalid(`orderBy: expected an object like { year: "desc" }, got ${typeName(orderBy)}`);
  }
  const fields = Object.entries(orderBy);
  if (fields.length === 0 || fields.length > fieldsMax) {
    throw invalid(`orderBy: expected 1 to ${fieldsMax} fields, got ${fields.length}`);
  }
  return fields.map(([field, direction]) => {
    if (direction !== "asc" && direction !== "desc") {
      throw invalid(`orderBy: expected "asc" or "desc" of each field, got ${typeName(direction)}`);
    }
    return { path: splitPath(field, "orderBy"), isAscending: direction === "asc" };
  });
}
