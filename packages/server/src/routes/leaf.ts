/** `/v1/leaf/search`: searches of shards for routers. Every service is a leaf. */

import { createSecretKey, type KeyObject } from "node:crypto";
import { checkUnlimited } from "../access/caller.js";
import type { Server } from "../http/http-server.js";
import { untilTooLong } from "../http/request-end.js";
import { decodeSearch, encodeFound, searchSchema } from "../schemas/leaf.js";
import { leafRoute } from "../leaves/leaves.js";
import type { Services } from "./services.js";

const sweepMs = 60_000;
/** About 3 MB. */
const keysMax = 10_000;

export function addLeafRoutes(app: Server, { leaf, limits }: Services): void {
  const { idleIndexMsMax, queryBytesMax: bodyLimit, workMsMax } = limits;
  /** By their texts, since searches have the same ones, and to create them takes longer than to find a row. */
  const keys = new Map<string, KeyObject>();
  const keyOf = (text: string) => {
    const key = keys.get(text) ?? createSecretKey(text, "hex");
    if (keys.size >= keysMax) keys.clear();
    keys.set(text, key);
    return key;
  };
  const sweep = () => {
    keys.clear();
    void leaf.dropUnused(Date.now() - idleIndexMsMax);
  };
  const sweeping = setInterval(sweep, sweepMs).unref();
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
        const { search, shards } = decodeSearch(body, keyOf);
        return encodeFound(await leaf.search(search, shards, untilTooLong(reply, workMsMax)), shards);
      },
    );
  });
}
