/**
 * The HTTP service as a fastify application: hooks, routes, documentation. It serves one client of the library, which
 * is its caller's to close; no request can say where data are stored.
 */

import { randomUUID } from "node:crypto";
import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { fastify, type FastifyInstance, type FastifyServerOptions, LogController } from "fastify";
import { type Client, SealdexError } from "sealdex/core";
import { bodyBytesMax, encodeHealth } from "sealdex/wire";
import { apiKeyCheck } from "./api-key.js";
import { replyWithError, replyWithNoRoute } from "./error-reply.js";
import { parseJsonBody } from "./json-body.js";
import { OpenIndexes } from "./open-indexes.js";
import { addIndexRoutes } from "./routes/indexes.js";
import { addVectorRoutes } from "./routes/vectors.js";
import * as schemas from "./schemas.js";
import { shapeError } from "./shape-error.js";

export interface AppOptions {
  readonly client: Client;
  /** Accepted in `X-API-Key`. */
  readonly apiKeys: readonly string[];
  /** What `/v1/health` reports. */
  readonly version: string;
  /** Takes the log, one line of JSON per request: its method, route, status and time. Default: no log. */
  readonly log?: { write(line: string): void };
}

function newInstance({ log }: AppOptions) {
  const options: FastifyServerOptions = {
    bodyLimit: bodyBytesMax,
    // Types are never converted: `"5"` is not 5. Unknown properties pass.
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        verbose: true,
      },
    },
    schemaErrorFormatter: shapeError,
    genReqId: () => randomUUID(),
    // Fastify's own lines would hold URLs and headers; ours is written by a hook below.
    logController: new LogController({ disableRequestLogging: true }),
    ...(log !== undefined && { logger: { level: "info", stream: log } }),
  };
  return fastify(options).withTypeProvider<TypeBoxTypeProvider>();
}

export type App = ReturnType<typeof newInstance>;

/** A service that is ready to listen. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { client, apiKeys, version } = options;
  const app = newInstance(options);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (_request: unknown, bytes: Buffer) => parseJsonBody(bytes),
  );
  // Answers are ours and of the right shape: a serializer made from their schemas gives the same text, and takes 2
  // to 8 times as long.
  app.setSerializerCompiler(() => (body) => JSON.stringify(body));
  app.setErrorHandler<SealdexError>(replyWithError);
  app.setNotFoundHandler(replyWithNoRoute);
  app.addHook("onRequest", async (request, reply) => {
    reply.header("X-Request-Id", request.id);
  });
  app.addHook("onResponse", async (request, reply) => {
    const { method, routeOptions } = request;
    const ms = Math.round(reply.elapsedTime);
    request.log.info({ method, route: routeOptions.url, status: reply.statusCode, ms }, "request");
  });

  await addDocumentation(app, version);
  app.get("/v1/health", { schema: schemas.health }, async () => encodeHealth(version));

  const indexes = new OpenIndexes(client);
  app.addHook("onClose", async () => indexes.close());
  const isApiKey = apiKeyCheck(apiKeys);
  await app.register(async (scope: App) => {
    scope.addHook("onRequest", async (request) => {
      if (isApiKey(request.headers["x-api-key"])) return;
      throw new SealdexError("unauthenticated", "X-API-Key: expected a valid API key");
    });
    addIndexRoutes(scope, client, indexes);
    addVectorRoutes(scope, indexes);
  });
  return app;
}

/** The OpenAPI document at `/v1/openapi.json`, and pages made from it at `/docs`. */
async function addDocumentation(app: App, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Sealdex",
        version,
        description: "Encrypted vector indexes: nearest neighbours of vectors and texts.",
      },
      components: {
        securitySchemes: { apiKey: { type: "apiKey", name: "X-API-Key", in: "header" } },
      },
      security: [{ apiKey: [] }],
    },
  });
  await app.register(swaggerUi, { routePrefix: "/docs" });
  app.get("/v1/openapi.json", { schema: { hide: true } }, async () => app.swagger());
}
