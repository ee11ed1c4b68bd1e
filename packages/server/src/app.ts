/**
 * The HTTP service as a fastify application. It serves one client of the library, which its caller
 * closes; requests cannot choose storage locations.
 */

import type { FastifyInstance } from "fastify";
import type { BlobStore, Client, KeyProvider, SealdexError } from "sealdex/core";
import type { Certificates } from "./http/certificates.js";
import { measure } from "./metrics/measure.js";
import { limitRequests } from "./http/admission.js";
import { auditRequests } from "./audit/audit-requests.js";
import type { AuditLog } from "./audit/audit-log.js";
import { limitAddresses, limitWrongIndexKeys, requireApiKeys } from "./access/authentication.js";
import { BodySchemas } from "./body/body-schema.js";
import { readBody } from "./body/read-body.js";
import { limitConnections } from "./http/connections.js";
import { addDashboard } from "./http/dashboard.js";
import { addDocumentation } from "./http/documentation.js";
import { replyWithError, replyWithNoRoute } from "./http/error-reply.js";
import { type Log, newServer, type Server } from "./http/http-server.js";
import { FixedKeys } from "./access/fixed-keys.js";
import { IssuedKeys } from "./access/issued-keys.js";
import { KeyStore } from "./access/key-store.js";
import { LastWrites } from "./indexes/last-writes.js";
import { defaultLimits, type Limits } from "./http/limits.js";
import { healthOf, type Location } from "./metrics/location-health.js";
import type { Metrics } from "./metrics/metrics.js";
import { OpenIndexes } from "./indexes/open-indexes.js";
import { Siblings } from "./processes/siblings.js";
import { refuseUnderPressure } from "./http/pressure.js";
import { readLimits } from "./http/results.js";
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
import { useServiceKey } from "./access/service-key.js";
import { traceRequests } from "./http/tracing.js";
import { Trainings } from "./indexes/trainings.js";

export interface AppOptions {
  readonly client: Client;
  /** Keys accepted in `X-API-Key` for everything. */
  readonly apiKeys: readonly string[];
  /** Default: no API keys can be issued. */
  readonly issuing?: Issuing;
  /** Provides index keys to requests without one. Default: every request needs a key. */
  readonly indexKey?: KeyProvider;
  /** Embedding models that indexes may use, besides the built-in ones. Default: none. */
  readonly models?: readonly string[];
  /** Reported by `/v1/health`. */
  readonly version: string;
  /** Default: those of `defaultLimits`. */
  readonly limits?: Partial<Limits>;
  /** Closed by the caller. Default: no audit log. */
  readonly audit?: AuditLog;
  /** Default: no metrics, and no `/metrics`. */
  readonly metrics?: Metrics;
  /**
   * Storage locations that the dashboard at `/admin` shows; needs `metrics`. Default: no dashboard.
   */
  readonly dashboard?: readonly Location[];
  /**
   * Rejects if the service cannot serve requests, for `/v1/health/ready`. Default: always ready.
   */
  readonly checkStorage?: () => Promise<unknown>;
  /** Default: no log. */
  readonly log?: Log;
  /** Proxies whose `X-Forwarded-For` names the client. Default: none; the header is ignored. */
  readonly trustProxy?: string[];
  /** Default: a single process. */
  readonly siblings?: Siblings;
  /** Default: HTTP without TLS. */
  readonly certificates?: Certificates;
}

export interface Issuing {
  /**
   * Accepted in `X-API-Key` for everything; authenticates the records of issued keys. At least 32
   * characters.
   */
  readonly rootKey: string;
  /** Store of the records, in the configuration location. Closed by the caller. */
  readonly store: BlobStore;
}

/** Returns a service that is ready to listen. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { apiKeys, issuing, version, audit, metrics, dashboard, log, trustProxy, indexKey, certificates } =
    options;
  const { siblings = new Siblings() } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const app = newServer({ limits, log, trustProxy, certificates });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", readBody);
  const bodies = new BodySchemas(limits.itemsMax);
  app.setValidatorCompiler(({ schema }) => bodies.compileRest(schema));
  app.addHook("onRoute", (route) => {
    route.config = { ...route.config, streams: bodies.streams(route.schema?.body) };
  });
  // Responses have the right shape by construction. A serializer from their schemas gives the same
  // text in 2 to 8 times the time.
  app.setSerializerCompiler(() => (body) => JSON.stringify(body));
  app.setErrorHandler<SealdexError>(replyWithError);
  app.setNotFoundHandler(replyWithNoRoute);
  limitConnections(app, limits.connectionsMax);

  limitAddresses(app, limits, siblings);
  await addDocumentation(app, version);
  addHealthRoutes(app, version, options.checkStorage);

  const client = indexKey === undefined ? options.client : useServiceKey(app, options.client, indexKey);
  const fixed = new FixedKeys(issuing?.rootKey, apiKeys);
  const issued = issuing && new IssuedKeys(new KeyStore(issuing.store, issuing.rootKey));
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
      audit,
    };
    await scope.register(async (admin: Server) => addAdminRoutes(admin, services));
  });
  return app;
}
