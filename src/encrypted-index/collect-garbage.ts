/** Garbage collection of a whole storage location on demand: objects that belong to no index. */

import { optionNames, takeOptions } from "../option-names.js";
import type { CallOptions, EmbeddedClient, EmbeddedClientOptions } from "../vector-index.js";
import { deleteOrphans } from "./orphans.js";
import { atLocation } from "./at-location.js";

const collectOptions = optionNames<CallOptions>("collectGarbage", { signal: true });

/**
 * Deletes the remaining objects of indexes that were deleted, or whose creation, copying or deletion was interrupted, a day after
 * they were first found; what is found for the first time is marked. Returns the number of indexes of which something was
 * deleted. Needs no key. Lists the keys of all indexes of the location.
 *
 * `place`: locations, or an embedded client. Throws `corrupt` if the record of a name that several indexes have had is damaged.
 */
export async function collectGarbage(
  place: EmbeddedClient | EmbeddedClientOptions,
  options: CallOptions = {},
): Promise<number> {
  options = takeOptions(options, collectOptions);
  const { signal } = options;
  return atLocation(place, "collectGarbage", signal, async (client) => {
    const deleted = await deleteOrphans(client.stores, client.clock, signal);
    signal?.throwIfAborted();
    return deleted;
  });
}
