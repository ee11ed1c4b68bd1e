/** A client that has no vectors of collections in memory: leaves search them. */

import type { EmbeddedClientOptions } from "../../api/vector-index.js";
import type { SearchShards } from "../../query/shard-search.js";
import { systemClock } from "../../state/commit/clock.js";
import { openParts } from "../client-parts.js";
import { EmbeddedClient } from "../embedded-client.js";

/** Throws `invalid_request`. */
export function createRouter(options: EmbeddedClientOptions, searchShards: SearchShards): EmbeddedClient {
  return new EmbeddedClient(options, systemClock, openParts(options, systemClock, searchShards));
}
