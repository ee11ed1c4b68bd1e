/** Garbage collection of a whole storage location on demand: objects that belong to no index. */

import { invalid, typeName } from "../../checks/input.js";
import { optionNames, takeOptions } from "../../checks/option-names.js";
import type { CallOptions, EmbeddedClient, EmbeddedClientOptions } from "../../api/vector-index.js";
import { atLocation } from "./with-location-client.js";
import { type CollectedIndex, deleteOrphans } from "../maintenance/orphans.js";

/** Options of `collectGarbage`. */
export interface CollectGarbageOptions extends CallOptions {
  /** Deletes nothing, and returns the objects that would be deleted. Default: false. */
  readonly dryRun?: boolean;
}

const collectOptions = optionNames<CollectGarbageOptions>("collectGarbage", { dryRun: true, signal: true });

/**
 * Deletes the rest of indexes whose deletion or copying began more than a day ago in this location, and which have no record
 * in it; of collections, also if their creation did. Returns of which, and how many objects each had. Needs no key. Nothing
 * else is touched: objects that neither `deleteIndex`, `copyIndex` nor `createCollection` marked in both the configuration
 * and the index location stay, whatever else lies there. An index of whose name there is a damaged record stays, too.
 *
 * `place`: locations, or an embedded client.
 */
export async function collectGarbage(
  place: EmbeddedClient | EmbeddedClientOptions,
  options: CollectGarbageOptions = {},
): Promise<CollectedIndex[]> {
  options = takeOptions(options, collectOptions);
  const { dryRun = false, signal } = options;
  if (typeof dryRun !== "boolean") throw invalid(`dryRun: expected a boolean, got ${typeName(dryRun)}`);
  return atLocation(place, "collectGarbage", signal, async (client) => {
    const deleted = await deleteOrphans(client.stores, client.clock, { dryRun, signal });
    signal?.throwIfAborted();
    return deleted;
  });
}
