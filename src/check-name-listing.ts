/** Checks the options of listing indexes, embedded and over HTTP. */

import { checkText, invalid, typeName } from "./check-input.js";
import type { ListIndexesOptions } from "./listing-options.js";
import { methodOptions } from "./method-options.js";
import { takeOptions } from "./option-names.js";

/** The options as they are now. Throws `invalid_request`. */
export function checkNameListing(options: ListIndexesOptions): ListIndexesOptions {
  const own = takeOptions(options, methodOptions.listIndexes);
  const { limit, after } = own;
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 0)) {
    throw invalid(
      `limit: expected an integer of 0 or more, got ${typeof limit === "number" ? limit : typeName(limit)}`,
    );
  }
  if (after !== undefined) checkText(after, "after");
  return own;
}
