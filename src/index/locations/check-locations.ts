/** Checks that storage locations can hold indexes, before anything depends on it. */

import { optionNames, takeOptions } from "../../checks/option-names.js";
import { probe } from "../../storage/probe.js";
import type { CallOptions, EmbeddedClient, EmbeddedClientOptions } from "../../api/vector-index.js";
import { atLocation } from "./with-location-client.js";

const checkLocationsOptions = optionNames<CallOptions>("checkLocations", { signal: true });

/**
 * Writes, reads, lists and deletes a few small blobs in each location. `place`: locations, or an embedded client.
 * Throws `storage_unavailable` for a location that does not respond or may not be written to, within the time that the
 * client gives storage; `not_supported` for one that cannot hold an index safely.
 */
export async function checkLocations(
  place: EmbeddedClient | EmbeddedClientOptions,
  options: CallOptions = {},
): Promise<void> {
  options = takeOptions(options, checkLocationsOptions);
  const { signal } = options;
  await atLocation(place, "checkLocations", signal, async (client) => {
    const { indexStore, configStore, anchorStore } = client.stores;
    await probe(indexStore, "index location");
    signal?.throwIfAborted();
    if (configStore !== indexStore) await probe(configStore, "config location");
    signal?.throwIfAborted();
    if (anchorStore !== undefined) await probe(anchorStore, "anchor location");
  });
}
