/**
 * The HTTP service as a fastify application. It serves one client of the library, which its caller
 * closes; requests cannot choose storage locations.
 */

import type { FastifyInstance } from "fastify";
import type { Client, KeyProvider } from "sealdex/core";
import { Leaf } from "sealdex/wire";
import {
  acceptedKeys,
  type Issuing,
  limitAddresses,
  limitWrongIndexKeys,
  requireApiKeys,
} from "./access/authentication.js";
import { useServiceKey } from "./access/service-key.js";
import type { AuditLog } from "./audit/audit-log.js";
import { auditRequests } from "./audit/audit-requests.js";
import { limitRequests, refuseUnderPressure } from "./http/admission.js";
import type { Certificates } from "./http/certificates.js";
import { limitConnections } from "./http/connections.js";
import { allowOrigins } from "./http/cors.js";
import { addDashboard } from "./http/dashboard.js";
import { addDocumentation } from "./http/documentation.js";
import { type Log, newServer, type Server } from "./http/http-server.js";
import { defaultLimits, type Limits } from "./http/limits.js";
import { readLimits } from "./http/results.js";
import { traceRequests } from "./http/tracing.js";
import { OpenIndexes } from "./indexes/open-indexes.js";
import { Trainings } from "./indexes/trainings.js";
import type { Location } from "./metrics/location-health.js";
import { measure } from "./metrics/measure.js";
import type { Metrics } from "./metrics/metrics.js";
import { Siblings } from "./processes/siblings.js";
import { keyRoutes, openRoutes } from "./routes/routes.js";
import type { Services } from "./routes/services.js";

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
  /** Origins of pages that may call the service. Default: none but its own. */
  readonly corsOrigins?: readonly string[];
  /** Default: a single process. */
  readonly siblings?: Siblings;
  /** Default: HTTP without TLS. */
  readonly certificates?: Certificates;
}

/** Returns a service that is ready to listen. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { version, audit, metrics, dashboard, log, trustProxy, indexKey, certificates } = options;
  const {
    corsOrigins = [],
    siblings = new Siblings(),
    checkStorage = async () => undefined,
    models = [],
  } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const app = newServer({ limits, log, trustProxy, certificates });
  limitConnections(app, limits);
  limitAddresses(app, limits, siblings);
  if (corsOrigins.length > 0) await allowOrigins(app, corsOrigins);
  await addDocumentation(app, version, dashboard !== undefined);

  const client = indexKey === undefined ? options.client : useServiceKey(app, options.client, indexKey);
  const keys = acceptedKeys(options.apiKeys, options.issuing);
  const indexes = new OpenIndexes(client, limits);
  const trainings = new Trainings((result, ms) => metrics?.trained(result, ms));
  const services: Services = {
    version,
    client,
    leaf: new Leaf(options.client),
    indexes,
    trainings,
    limits,
    models,
    siblings,
    audit,
    metrics,
    dashboard,
    checkStorage,
    issued: keys.issued,
    reading: readLimits(limits),
  };
  app.addHook("onClose", async () => {
    indexes.close();
    trainings.close();
    await keys.issued?.store.lastUses.close();
  });
  for (const add of openRoutes) add(app, services);
  traceRequests(app);
  if (metrics !== undefined) measure(app, metrics, indexes, trainings);
  if (dashboard !== undefined) await addDashboard(app);
  await app.register(async (scope: Server) => {
    if (audit !== undefined) auditRequests(scope, audit);
    await refuseUnderPressure(scope, limits);
    requireApiKeys(scope, keys, limits, siblings);
    limitRequests(scope, limits);
    limitWrongIndexKeys(scope, indexes, limits, siblings);
    for (const add of keyRoutes) add(scope, services);
  });
  return app;
}
