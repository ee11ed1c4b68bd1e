/** `/v1/leaf/search`: searches of shards for routers. Every service is a leaf. */

import { checkUnlimited } from "../access/caller.js";
import type { Server } from "../http/http-server.js";
import { untilTooLong } from "../http/request-end.js";
import { decodeSearch, encodeFound, searchSchema } from "../schemas/leaf.js";
import { leafRoute } from "../leaves/leaves.js";
import type { Services } from "./services.js";

const sweepMs = 60_000;

export function addLeafRoutes(app: Server, { leaf, limits }: Services): void {
  const { idleIndexMsMax, queryBytesMax: bodyLimit, workMsMax } = limits;
  const sweeping = setInterval(() => void leaf.dropUnused(Date.now() - idleIndexMsMax), sweepMs).unref();
  app.addHook("onClose", async () => clearInterval(sweeping));
  app.post(leafRoute, { schema: searchSchema, bodyLimit }, async ({ body, caller }, reply) => {
    if (caller !== undefined) checkUnlimited(caller);
    const { search, shards } = decodeSearch(body);
    return encodeFound(await leaf.search(search, shards, untilTooLong(reply, workMsMax)), shards);
  });
}
