/** Checks of a query by metadata alone. */

import { invalid, typeName } from "../check-input.js";
import { splitPath } from "../filter.js";
import { checkOrderedOptions } from "../ordered-options.js";
import type { OrderField } from "../search/order-key.js";
import { filterOf } from "../selection.js";
import type { OrderedQuery } from "../vector-index.js";
import { type CheckedListing, checkListing } from "./check-request.js";

const fieldsMax = 8;
const pageItems = 100;

/** Throws `invalid_request`, also for options that other queries alone have. */
export function checkOrderedQuery(request: OrderedQuery): CheckedListing {
  checkOrderedOptions(request);
  const { orderBy, topK = pageItems, include = ["metadata"], reserveBytes, rawMetadata, signal } = request;
  const filter = filterOf(request, "query");
  const listing = { filter, include, reserveBytes, rawMetadata, signal };
  return { ...checkListing(listing, topK, "topK"), order: checkOrder(orderBy) };
}

function checkOrder(orderBy: OrderedQuery["orderBy"]): OrderField[] {
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
