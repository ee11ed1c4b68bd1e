/** Collection of a whole place on demand: what belongs to no index that is there. */

import { checkOptions, optionNames } from "../option-names.js";
import type { CallOptions, EmbeddedClient, EmbeddedClientOptions } from "../vector-index.js";
import { deleteOrphans } from "./orphans.js";
import { atLocation } from "./at-location.js";

const collectOptions = optionNames<CallOptions>("collectGarbage", { signal: true });

/**
 * Deletes what is left of indexes that were deleted, or whose creation, copying or deletion was cut short, once that has
 * been known for a day; what is found for the first time is marked. Returns of how many indexes something was deleted.
 * Needs no key. Asks storage about every index of the place, one after the other.
 *
 * `place`: locations, or an embedded client. Throws `corrupt` where an index's record is damaged.
 */
export async function collectGarbage(
  place: EmbeddedClient | EmbeddedClientOptions,
  options: CallOptions = {},
): Promise<number> {
  checkOptions(options, collectOptions);
  const { signal } = options;
  return atLocation(place, "collectGarbage", signal, async (client) => {
    const { indexStore, configStore } = client.stores;
    const deleted = await deleteOrphans(indexStore, configStore, client.clock, signal);
    signal?.throwIfAborted();
    return deleted;
  });
}
