/** Times of the last write to each index through this process. */

import { addressIn } from "sealdex/wire";
import type { Server } from "../http/http-server.js";

/** An entry takes about 400 bytes. */
const namesMax = 10_000;

const writing = new Set([
  "/v1/indexes/create",
  "/v1/vectors/upsert",
  "/v1/vectors/upsert_binary",
  "/v1/vectors/update",
  "/v1/vectors/delete",
  "/v1/indexes/erase",
]);

/**
 * Notes the writes of requests of `scope`. Returns their times by index name, in milliseconds since
 * 1970, oldest first. Of many names, those without a write for longest are forgotten.
 */
export function noteWrites(scope: Server): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  scope.addHook("onResponse", async ({ routeOptions, body }, reply) => {
    const { indexName } = addressIn(body);
    if (reply.statusCode !== 200 || indexName === undefined || !writing.has(routeOptions.url ?? "")) return;
    times.delete(indexName);
    times.set(indexName, Date.now());
    const [oldest] = times.keys();
    if (times.size > namesMax) times.delete(oldest);
  });
  return times;
}
