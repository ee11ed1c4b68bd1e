/**
 * The HTTP service as a fastify application: hooks, routes, documentation. It serves one client of the library, which
 * is its caller's to close; no request can say where data are stored.
 */

import type { FastifyInstance } from "fastify";
import type { BlobStore, Client, KeyProvider, SealdexError } from "sealdex/core";
import type { Certificates } from "./certificates.js";
import { measure } from "./measure.js";
import { limitRequests } from "./admission.js";
import { auditRequests } from "./audit/audit-requests.js";
import type { AuditLog } from "./audit/audit-log.js";
import { limitAddresses, limitWrongIndexKeys, requireApiKeys } from "./authentication.js";
import { BodySchemas } from "./body/body-schema.js";
import { readBody } from "./body/read-body.js";
import { limitConnections } from "./connections.js";
import { addDashboard } from "./dashboard.js";
import { addDocumentation } from "./documentation.js";
import { replyWithError, replyWithNoRoute } from "./error-reply.js";
import { type Log, newServer, type Server } from "./http-server.js";
import { FixedKeys } from "./keys/fixed-keys.js";
import { IssuedKeys } from "./keys/issued-keys.js";
import { KeyStore } from "./keys/key-store.js";
import { LastWrites } from "./last-writes.js";
import { defaultLimits, type Limits } from "./limits.js";
import { healthOf, type Location } from "./location-health.js";
import type { Metrics } from "./metrics.js";
import { OpenIndexes } from "./open-indexes.js";
import { noSiblings, type Siblings } from "./processes/siblings.js";
import { refuseUnderPressure } from "./pressure.js";
import { readLimits } from "./results.js";
import { addAdminRoutes } from "./routes/admin.js";
import { addHealthRoutes } from "./routes/health.js";
import { addIndexRoutes } from "./routes/indexes.js";
import { addMetadataRoutes } from "./routes/metadata.js";
import { addMetricsRoute } from "./routes/metrics.js";
import { addKeyRoutes } from "./routes/keys.js";
import { addTrainingStatusRoute } from "./routes/training-status.js";
import { addUserRoutes } from "./routes/users.js";
import { addVectorRoutes } from "./routes/vectors.js";
import { addWrapRoutes } from "./routes/wraps.js";
import { useServiceKey } from "./service-key.js";
import { traceRequests } from "./tracing.js";
import { Trainings } from "./trainings.js";

export interface AppOptions {
  readonly client: Client;
  /** Accepted in `X-API-Key`, for everything. */
  readonly apiKeys: readonly string[];
  /** Default: no API keys can be issued. */
  readonly issuing?: Issuing;
  /** Keeps the keys of indexes for requests that carry none. Default: every request carries one. */
  readonly indexKey?: KeyProvider;
  /** Names of embedding models, besides the built-in ones, that indexes may use. Default: none. */
  readonly models?: readonly string[];
  /** What `/v1/health` reports. */
  readonly version: string;
  /** Default: those of `defaultLimits`. */
  readonly limits?: Partial<Limits>;
  /** The caller's to close. Default: requests are not recorded. */
  readonly audit?: AuditLog;
  /** Default: nothing is measured, and there is no `/metrics`. */
  readonly metrics?: Metrics;
  /** The storage locations that the dashboard at `/admin` shows; needs `metrics`. Default: there is no dashboard. */
  readonly dashboard?: readonly Location[];
  /** Rejects if requests could not be served now, for `/v1/health/ready`. Default: they always can. */
  readonly checkStorage?: () => Promise<unknown>;
  /** Default: no log. */
  readonly log?: Log;
  /** Addresses of the proxies whose `X-Forwarded-For` names the client. Default: none, the header is ignored. */
  readonly trustProxy?: string[];
  /** Default: none, the service is this process. */
  readonly siblings?: Siblings;
  /** Default: HTTP without TLS. */
  readonly certificates?: Certificates;
}

export interface Issuing {
  /** Accepted in `X-API-Key`, for everything; authenticates the records of issued keys. At least 32 characters. */
  readonly rootKey: string;
  /** Where the records are: the configuration location. The caller's to close. */
  readonly store: BlobStore;
}

/** A service that is ready to listen. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { apiKeys, issuing, version, audit, metrics, dashboard, log, trustProxy, indexKey, certificates } =
    options;
  const { siblings = noSiblings } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const app = newServer({ limits, log, trustProxy, certificates });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", readBody);
  const bodies = new BodySchemas(limits.itemsMax);
  app.setValidatorCompiler(({ schema }) => bodies.compileRest(schema));
  app.addHook("onRoute", (route) => {
    route.config = { ...route.config, streams: bodies.streams(route.schema?.body) };
  });
  // Answers are ours and of the right shape: a serializer made from their schemas gives the same text, and takes 2
  // to 8 times as long.
  app.setSerializerCompiler(() => (body) => JSON.stringify(body));
  app.setErrorHandler<SealdexError>(replyWithError);
  app.setNotFoundHandler(replyWithNoRoute);
  limitConnections(app, limits.connectionsMax);

  limitAddresses(app, limits, siblings);
  await addDocumentation(app, version);
  addHealthRoutes(app, version, options.checkStorage);

  const client = indexKey === undefined ? options.client : useServiceKey(app, options.client, indexKey);
  const fixed = new FixedKeys(issuing?.rootKey, apiKeys);
  const issued = issuing && new IssuedKeys(new KeyStore(issuing.store, issuing.rootKey), siblings);
  const indexes = new OpenIndexes(client, limits);
  const trainings = new Trainings((result, ms) => metrics?.trained(result, ms));
  app.addHook("onClose", async () => {
    indexes.close();
    trainings.close();
    await issued?.store.lastUses.close();
  });
  traceRequests(app);
  if (metrics !== undefined) measure(app, metrics, indexes, trainings);
  if (dashboard !== undefined) await addDashboard(app);
  await app.register(async (scope: Server) => {
    if (audit !== undefined) auditRequests(scope, audit);
    await refuseUnderPressure(scope, limits);
    requireApiKeys(scope, { fixed, issued }, limits, siblings);
    limitRequests(scope, limits);
    limitWrongIndexKeys(scope, indexes, limits, siblings);
    const reading = readLimits(limits);
    addIndexRoutes(scope, { client, indexes, limits, reading });
    addWrapRoutes(scope, indexes);
    addVectorRoutes(scope, { indexes, limits, reading });
    addMetadataRoutes(scope, {
      indexes,
      bodyLimit: limits.queryBytesMax,
      reading,
      models: options.models ?? [],
    });
    addTrainingStatusRoute(scope, trainings, siblings);
    if (metrics !== undefined) addMetricsRoute(scope, metrics, siblings);
    addKeyRoutes(scope, { issued, reading });
    addUserRoutes(scope, { client, indexes, issued, reading });
    if (dashboard === undefined || metrics === undefined) return;
    const lastWrites = new LastWrites();
    lastWrites.record(scope);
    const services = {
      version,
      metrics,
      indexes,
      lastWrites,
      health: healthOf(dashboard),
      audit: audit?.reader,
    };
    await scope.register(async (admin: Server) => addAdminRoutes(admin, services));
  });
  return app;
}
