/** `/v1/leaf/search`: searches of shards for routers. Every service is a leaf. */

import { checkUnlimited } from "../access/caller.js";
import type { Server } from "../http/http-server.js";
import { neighborBytes, readLimits } from "../http/results.js";
import { decodeSearch, encodeFound, leafRoute, searchSchema } from "../schemas/leaf.js";
import type { Services } from "./services.js";

const sweepMs = 60_000;

export function addLeafRoutes(app: Server, { leaf, limits }: Services): void {
  const { idleIndexMsMax, queryBytesMax: bodyLimit } = limits;
  // Apart from the results of queries: a service that is a leaf of itself holds room for some while it asks for more.
  const reading = readLimits(limits);
  const sweeping = setInterval(() => void leaf.dropUnused(Date.now() - idleIndexMsMax), sweepMs).unref();
  app.addHook("onClose", async () => clearInterval(sweeping));
  void app.register(async (scope: Server) => {
    // As one text: to check shards one by one while they arrive takes longer than the search.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser<string>("application/json", { parseAs: "string" }, (_request, text, done) =>
      done(null, text),
    );
    scope.post<{ Body: string }>(
      leafRoute,
      { schema: searchSchema, bodyLimit, config: { isPart: true } },
      async ({ body, caller }, reply) => {
        if (caller !== undefined) checkUnlimited(caller);
        const { search, shards } = await decodeSearch(body);
        const { signal, reserveBytes } = reading(reply);
        await reserveBytes(neighborBytes * search.topK * search.vectors.length * shards.length);
        return encodeFound(await leaf.search(search, shards, signal), shards);
      },
    );
  });
}
