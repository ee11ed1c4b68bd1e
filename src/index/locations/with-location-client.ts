/** Work on storage that a caller names by its locations, or by an open client. */

import { invalid } from "../../checks/input.js";
import type { EmbeddedClient as ClientOfLocations, EmbeddedClientOptions } from "../../api/vector-index.js";
import { EmbeddedClient } from "../embedded-client.js";

/** Runs `work` as a call of the client, which is closed afterwards if it was opened here. `where` is for messages. */
export async function atLocation<T>(
  place: ClientOfLocations | EmbeddedClientOptions,
  where: string,
  signal: AbortSignal | undefined,
  work: (client: EmbeddedClient) => Promise<T>,
): Promise<T> {
  if (isEmbeddedClient(place)) return place.during(signal, () => work(place));
  if (typeof place !== "object" || place === null || !("indexLocation" in place)) {
    throw invalid(`${where}: expected storage locations or a client of them`);
  }
  const client = new EmbeddedClient(place);
  try {
    return await client.during(signal, () => work(client));
  } finally {
    await client.close();
  }
}

/** Not by its class: the other build of this package, for `require`, has another one. */
function isEmbeddedClient(place: unknown): place is EmbeddedClient {
  return typeof place === "object" && place !== null && "kind" in place && place.kind === "embedded";
}
