/** `/v1/leaf/search`: searches of shards for routers. Every service is a leaf. */

import { checkUnlimited } from "../access/caller.js";
import type { Server } from "../http/http-server.js";
import { untilTooLong } from "../http/request-end.js";
import { decodeSearch, encodeFound, leafRoute, searchSchema } from "../schemas/leaf.js";
import type { Services } from "./services.js";

const sweepMs = 60_000;

export function addLeafRoutes(app: Server, { leaf, limits }: Services): void {
  const { idleIndexMsMax, queryBytesMax: bodyLimit, workMsMax } = limits;
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
      { schema: searchSchema, bodyLimit },
      async ({ body, caller }, reply) => {
        if (caller !== undefined) checkUnlimited(caller);
        const { search, shards } = decodeSearch(body);
        return encodeFound(await leaf.search(search, shards, untilTooLong(reply, workMsMax)), shards);
      },
    );
  });
}
