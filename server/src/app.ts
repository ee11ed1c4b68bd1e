/**
 * The HTTP service as a fastify application: hooks, routes, documentation. It serves one client of the library, which
 * is its caller's to close; no request can say where data are stored.
 */

import type { FastifyInstance } from "fastify";
import { type Client, SealdexError } from "sealdex/core";
import { encodeHealth } from "sealdex/wire";
import { limitRequests } from "./admission.js";
import { apiKeyCheck } from "./api-key.js";
import { arrayRules, compileRest } from "./body/body-schema.js";
import { readBody } from "./body/read-body.js";
import { addDocumentation } from "./documentation.js";
import { replyWithError, replyWithNoRoute } from "./error-reply.js";
import { type Log, newServer, type Server } from "./http-server.js";
import { defaultLimits, type Limits } from "./limits.js";
import { OpenIndexes } from "./open-indexes.js";
import { addIndexRoutes } from "./routes/indexes.js";
import { addVectorRoutes } from "./routes/vectors.js";
import * as schemas from "./schemas.js";
import { closeSilentConnections } from "./silent-connections.js";

export interface AppOptions {
  readonly client: Client;
  /** Accepted in `X-API-Key`. */
  readonly apiKeys: readonly string[];
  /** What `/v1/health` reports. */
  readonly version: string;
  /** Default: those of `defaultLimits`. */
  readonly limits?: Partial<Limits>;
  /** Default: no log. */
  readonly log?: Log;
}

/** A service that is ready to listen. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { client, apiKeys, version, log } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const app = newServer(limits, log);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", readBody);
  app.setValidatorCompiler(({ schema }) => compileRest(schema));
  app.addHook("onRoute", (route) => {
    route.config = { ...route.config, arrays: arrayRules(route.schema?.body) };
  });
  // Answers are ours and of the right shape: a serializer made from their schemas gives the same text, and takes 2
  // to 8 times as long.
  app.setSerializerCompiler(() => (body) => JSON.stringify(body));
  app.setErrorHandler<SealdexError>(replyWithError);
  app.setNotFoundHandler(replyWithNoRoute);
  closeSilentConnections(app);

  await addDocumentation(app, version);
  app.get("/v1/health", { schema: schemas.health }, async () => encodeHealth(version));

  const indexes = new OpenIndexes(client);
  app.addHook("onClose", async () => indexes.close());
  const isApiKey = apiKeyCheck(apiKeys);
  await app.register(async (scope: Server) => {
    scope.addHook("onRequest", async (request) => {
      if (isApiKey(request.headers["x-api-key"])) return;
      throw new SealdexError("unauthenticated", "X-API-Key: expected a valid API key");
    });
    limitRequests(scope, limits);
    addIndexRoutes(scope, client, indexes);
    addVectorRoutes(scope, indexes, limits);
  });
  return app;
}
